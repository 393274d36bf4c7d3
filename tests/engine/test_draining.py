"""A worker that is to end starts nothing more: what has begun is finished, and its run is handed back unharmed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from durable import draining, faults, journal, runner, runs
from durable.author import Call, Next, Receipt, RunContext, hours, step, tool
from durable.models import Attempt, Checkpoint, Effect, Purse, Run
from durable.states import Durability, RunState
from tests.engine import agents, desk, people

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("heard")]
WHY = {"actor": "olga", "reason": "no longer wanted"}


taken_back: list[str] = []


@tool(vendor="shelf")
def shelve(call: Call, sku: str) -> Receipt:
    """Set goods aside."""
    return Receipt(f"shelf {call.key}", key=call.key)


@shelve.undo(idempotent_for=hours(24))
def take_back(call: Call) -> Receipt:
    """Put goods back. The worker hears that it is to end while the first of them are."""
    taken_back.append(call.key)
    draining.begin()
    return Receipt(f"back {call.key}", key=call.key)


def ends(run: Run) -> list[str]:
    """How each attempt let go of the run."""
    return list(Attempt.objects.filter(run=run).order_by("number").values_list("how", flat=True))


def handed_back(run: Run, to: RunState = RunState.QUEUED) -> bool:
    """Whether nobody holds it, it is due at once, and neither a crash nor a retry was counted."""
    due = Run.objects.filter(pk=run.pk, state=to, lease_until=None, worker="", due_at__lte=Now())
    return due.filter(crashes=0, tries=0).exists() and ends(run)[-1] == "released"


def another_worker(run: Run) -> Run:
    """The run, after another process that does not drain has driven it."""
    draining.renew()
    return desk.drive(run)


def paying(*, first: Any = None, between: Any = None) -> Run:
    """A run of two payments in one step, with something that happens before and between them."""

    @step
    def act(self: Any, run: RunContext) -> Next:
        if first:
            first()
        run.effect(agents.pay, order="1", amount=Decimal(10), currency="EUR")
        if between:
            between()
        run.effect(agents.pay, order="2", amount=Decimal(20), currency="EUR")
        return None

    return agents.run_of(act)


@pytest.mark.parametrize("mode", list(Durability))
def test_a_run_is_handed_back_between_two_steps_and_no_step_is_executed_twice(
    mode: Durability, heard: list[str]
) -> None:
    went: list[int] = []

    @step
    def turn(self: Any, run: RunContext) -> Next:
        went.append(len(went) + 1)
        if len(went) == 3:
            draining.begin()
        following: Next = self.turn if len(went) < 6 else None
        return following

    agents.define("Turner", turn)
    run = agents.start("Turner", durability=mode)
    heard.clear()
    desk.drive(run)

    assert went == [1, 2, 3]
    assert handed_back(run)
    assert heard == [run.ref]
    assert run.budget.steps_used == 3
    newest = Checkpoint.objects.filter(run=run).order_by("-version")[0]
    assert (newest.version, newest.next_step, newest.next_visit) == (run.version, "turn", 4)

    another_worker(run)
    assert (run.state, went, run.attempt) == (RunState.COMPLETED, [1, 2, 3, 4, 5, 6], 2)
    assert ends(run) == ["released", "ended"]


def test_a_worker_that_is_to_end_takes_no_run_and_passes_the_hint_on(heard: list[str]) -> None:
    run = agents.start("Looper")
    heard.clear()
    draining.begin()
    assert not runner.drive(run.ref)
    assert heard == [run.ref]
    assert Attempt.objects.filter(run=run).count() == 0


def test_no_effect_starts_once_the_worker_is_to_end() -> None:
    run = desk.drive(paying(first=draining.begin))
    assert handed_back(run)
    assert not Effect.objects.filter(run=run).exists()
    assert [event.kind for event in journal.events(run.ref)] == ["started"]
    assert agents.asked == []
    assert Purse.objects.get(budget=run.budget).reserved_minor == 0


def test_a_request_on_its_way_is_finished_and_the_next_effect_is_left_to_another_worker() -> None:
    run = paying()
    agents.meanwhile.append(lambda call: draining.begin())
    desk.drive(run)
    assert handed_back(run)
    assert desk.effects(run) == {"act": "applied"}
    assert [event.kind for event in journal.events(run.ref)] == ["started", "intent", "sent", "applied"]

    another_worker(run)
    assert run.state == RunState.COMPLETED
    assert [amount for _, amount in agents.asked] == ["10.00", "20.00"]


def test_a_word_that_comes_while_the_intent_is_being_written_lets_that_one_request_go_and_no_other() -> None:
    def watch(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if "INSERT INTO durable_effect" in str(sql):
            draining.begin()
        return execute(sql, params, many, context)

    run = paying()
    with connection.execute_wrapper(watch):
        desk.drive(run)
    assert handed_back(run)
    assert desk.effects(run) == {"act": "applied"}
    assert [amount for _, amount in agents.asked] == ["10.00"]


def test_not_even_people_are_asked_for_anything_new() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        draining.begin()
        run.effect(agents.write_letter, to="ada")
        return None

    run = desk.drive(agents.run_of(act))
    assert handed_back(run)
    assert not Effect.objects.filter(run=run).exists()


def test_an_approved_effect_is_not_let_out_and_keeps_its_approval() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        if people_said:
            draining.begin()
        run.effect(agents.write_letter, to="ada")
        return None

    people_said: list[bool] = []
    run = desk.drive(agents.run_of(act))
    people.say(run)
    people_said.append(True)
    desk.drive(run)
    assert handed_back(run)
    assert desk.effects(run) == {"act": "approved"}
    assert agents.asked == []

    people_said.clear()
    another_worker(run)
    assert (run.state, len(agents.asked)) == (RunState.COMPLETED, 1)


def test_a_lost_answer_is_looked_up_by_another_worker() -> None:
    def cut_off(call: Any) -> None:
        draining.begin()
        raise ConnectionResetError

    run = paying()
    agents.meanwhile.append(cut_off)
    desk.drive(run)
    assert handed_back(run)
    assert desk.effects(run) == {"act": "pending"}
    assert [event.kind for event in journal.events(run.ref)][-1] == "no answer"

    another_worker(run)
    assert run.state == RunState.COMPLETED
    assert [amount for _, amount in agents.asked] == ["10.00", "20.00"]


def test_a_model_that_is_asked_already_is_paid_for_once_and_no_other_is_asked() -> None:
    def think(request: Any) -> tuple[Any, int]:
        agents.asked.append(("model", request))
        draining.begin()
        return "thought", 10

    @step
    def act(self: Any, run: RunContext) -> Next:
        run.model(think, 1, tokens=50)
        run.model(think, 2, tokens=50)
        return None

    run = desk.drive(agents.run_of(act))
    assert handed_back(run)
    assert (run.budget.tokens_used, run.budget.tokens_reserved) == (10, 0)

    another_worker(run)
    assert (run.state, agents.asked) == (RunState.COMPLETED, [("model", 1), ("model", 2)])
    run.budget.refresh_from_db()
    assert run.budget.tokens_used == 20


def test_nothing_is_read_any_more_from_outside() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        draining.begin()
        run.call(agents.read_price, sku="MUG")
        return None

    assert handed_back(desk.drive(agents.run_of(act)))
    assert agents.asked == []


def test_code_that_swallows_it_hands_the_run_back_all_the_same() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        draining.begin()
        try:
            run.effect(agents.pay, order="1", amount=Decimal(10), currency="EUR")
        except BaseException:
            run.state["swallowed"] = True
        return None

    assert handed_back(desk.drive(agents.run_of(act)))
    assert agents.asked == []


@pytest.mark.parametrize("command", ["held", "cancelled"])
def test_a_command_that_came_first_keeps_its_effect(command: str) -> None:
    run = agents.start("Looper", {"turns": 3})

    def meanwhile() -> None:
        act = runs.hold if command == "held" else runs.cancel
        desk.meanwhile(lambda: act(run.ref, **WHY))
        draining.begin()

    faults.arm("checkpoint.before_commit", meanwhile)
    desk.drive(run)
    if command == "held":
        assert (run.state, run.lease_until, ends(run)) == (RunState.SUSPENDED, None, ["suspended"])
        runs.release(run.ref, **WHY)
        assert another_worker(run).state == RunState.COMPLETED
    else:
        assert (run.state, ends(run)) == (RunState.CANCELLED, ["ended"])


def test_the_undos_of_a_run_go_on_at_another_worker() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        run.effect(shelve, sku="A")
        run.effect(shelve, sku="B")
        return None

    run = desk.drive(agents.run_of(act))
    runs.compensate(run.ref, **WHY)
    taken_back.clear()
    desk.drive(run)
    assert handed_back(run, RunState.COMPENSATING)
    assert taken_back == [f"{run.ref}:act#2:undo"]

    another_worker(run)
    assert run.state == RunState.COMPENSATED
    assert taken_back == [f"{run.ref}:act#2:undo", f"{run.ref}:act:undo"]
