"""The three durability modes: when a checkpoint is written, and that effects are synchronous in all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from durable import checkpoints, faults
from durable.author import Next, RunContext, step
from durable.models import Checkpoint, Effect
from durable.states import Durability, RunState
from tests.engine import agents, desk
from tests.engine.scenes import Killed, die

pytestmark = pytest.mark.django_db(transaction=True)
MODES = pytest.mark.parametrize("mode", list(Durability))


TABLES = ("checkpoint", "frozen", "effect", "ledgerevent")


@contextmanager
def writes() -> Iterator[list[tuple[str, str]]]:
    """Every write to one of the tables, in order, with `on` or `off` for whether its commit waits for the disk."""
    found: list[tuple[str, str]] = []

    def watch(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        text = str(sql).replace('"', "")
        for table in TABLES:
            if f"INSERT INTO durable_{table} " in text or f"UPDATE durable_{table} " in text:
                found.append((table, _waits(text, params)))
        return result

    def _waits(text: str, params: Any) -> str:
        if not connection.in_atomic_block:
            lazy = "'off', true" in text or (isinstance(params, dict) and params.get("commit") == "off")
            return "off" if lazy else "on"
        with connection.connection.cursor() as cursor:
            return str(cursor.execute("SHOW synchronous_commit").fetchone()[0])

    with connection.execute_wrapper(watch):
        yield found


@MODES
def test_every_mode_ends_with_the_same_run(mode: Durability) -> None:
    run = desk.drive(agents.start("Walker", durability=mode))
    assert run.state == RunState.COMPLETED
    assert run.result["said"] == ["Where is my money?", "On its way."]
    assert (run.budget.steps_used, run.budget.tokens_used) == (3, 10)
    assert run.budget.purses.get().spent_minor == 4000


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [(Durability.SYNC, ["on", "on"]), (Durability.ASYNC, ["off", "off"]), (Durability.EXIT, [])],
)
def test_a_mode_says_when_a_checkpoint_is_written(mode: Durability, wanted: list[str]) -> None:
    run = agents.start("Looper", {"turns": 3}, durability=mode)
    with writes() as found:
        desk.drive(run)
    steps = [how for what, how in found if what == "checkpoint"]
    assert steps[: len(wanted)] == wanted
    assert Checkpoint.objects.filter(run=run, kind="step").count() == len(wanted)
    assert run.budget.steps_used == 3


@MODES
def test_intents_and_outcomes_wait_for_the_disk_in_every_mode(mode: Durability) -> None:
    run = agents.start("Walker", durability=mode)
    with writes() as found:
        desk.drive(run)
    effects = [how for what, how in found if what in ("effect", "ledgerevent")]
    assert len(effects) >= 4
    assert set(effects) == {"on"}
    acted = next(n for n, (what, _) in enumerate(found) if what == "effect")
    after = [how for what, how in found[acted:] if what == "checkpoint"]
    assert after[0] == ("off" if mode is Durability.ASYNC else "on")


def test_in_exit_mode_the_steps_before_an_effect_are_written_before_its_intent() -> None:
    went: list[str] = []

    @step
    def choose(self: Any, run: RunContext) -> Next:
        went.append("choose")
        chosen: Next = self.left if len(went) == 1 else self.right
        return chosen

    @step
    def left(self: Any, run: RunContext) -> Next:
        went.append("left")
        run.effect(agents.pay, order="1", amount=Decimal(40), currency="EUR")
        return None

    @step
    def right(self: Any, run: RunContext) -> Next:
        went.append("right")
        run.effect(agents.pay, order="1", amount=Decimal(40), currency="EUR")
        return None

    agents.define("Fickle", choose, left, right, budget=agents.Walker.budget)
    run = agents.start("Fickle", durability=Durability.EXIT)
    faults.arm("vendor.after_call", die)
    with pytest.raises(Killed):
        desk.drive(run)
    desk.time_passes(minutes=5)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert went == ["choose", "left", "left"]
    assert list(agents.moved) == [f"{run.ref}:left"]
    assert run.budget.steps_used == 2


def test_in_exit_mode_a_suspension_counts_the_steps_before_it() -> None:
    @step
    def walk(self: Any, run: RunContext) -> Next:
        run.state["walked"] = run.visit
        following: Next = self.walk if run.visit < 5 else self.rest
        return following

    @step
    def rest(self: Any, run: RunContext) -> Next:
        run.sleep(agents.hours(1))
        return None

    agents.define("Rester", walk, rest)
    run = desk.drive(agents.start("Rester", durability=Durability.EXIT))
    assert run.state == RunState.SUSPENDED
    assert run.budget.steps_used == 5
    assert (run.step, Checkpoint.objects.filter(run=run).count()) == ("rest", 2)


def test_in_exit_mode_the_limit_of_steps_still_holds() -> None:
    limited = agents.Budget(steps=4)
    agents.define("Endless", agents.Looper.steps["turn"].function, budget=limited)
    run = desk.drive(agents.start("Endless", {"turns": 10, "words": ""}, durability=Durability.EXIT))
    assert run.state == RunState.SUSPENDED
    assert (run.budget.steps_used, run.waits.get().name) == (4, "budget spent")
    assert checkpoints.load(run).state == {"turns": 4}


@MODES
def test_an_intent_comes_with_or_after_what_its_step_has_seen(mode: Durability) -> None:
    """Lazy commits are ordered: whoever has the intent on disk has the read on disk that it rests on."""

    @step
    def buy(self: Any, run: RunContext) -> Next:
        price = run.call(agents.read_price, sku="MUG")["price"]
        run.effect(agents.pay, order="1", amount=Decimal(price), currency="EUR")
        return None

    agents.define("Buyer", buy, budget=agents.Walker.budget)
    run = agents.start("Buyer", durability=mode)
    with writes() as found:
        desk.drive(run)
    order = [what for what, _ in found]
    assert order.index("frozen") < order.index("effect")
    assert Effect.objects.get(run=run).amount_minor == 100
