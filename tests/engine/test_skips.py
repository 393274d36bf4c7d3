"""Skips: what a step that is visited anew would do again, people are asked about first."""

from __future__ import annotations

from typing import Any

import pytest

from durable import runs, steering
from durable.author import Call, Next, Receipt, RunContext, hours, step, tool
from durable.models import Run
from durable.states import RunState
from tests.engine import agents, desk, people

pytestmark = pytest.mark.django_db(transaction=True)
BY: dict[str, Any] = {"actor": "olga", "reason": "because"}


@tool(vendor="shelf")
def shelve_it(call: Call, sku: str) -> Receipt:
    """Compensable: it can be taken back, and is done once without asking."""
    agents.asked.append((call.key, sku))
    return Receipt(f"shelf {call.key}", key=call.key)


@shelve_it.undo(idempotent_for=hours(24))
def unshelve_it(call: Call) -> Receipt:
    """Put goods back."""
    return Receipt(f"back {call.key}", key=call.key)


def replaced() -> Run:
    """A run that has set goods aside and told about it, and is stuck there."""

    @step
    def replace(self: Any, run: RunContext) -> Next:
        run.effect(shelve_it, sku="MUG")
        return self.tell

    @step(retries=0)
    def tell(self: Any, run: RunContext) -> Next:
        run.effect(shelve_it, sku="NOTE")
        if not run.state.get("ready"):
            raise ValueError("not ready")
        return None

    agents.define("Replacing", replace, tell)
    run = desk.drive(agents.start("Replacing"))
    assert desk.effects(run) == {"replace": "applied", "tell": "applied"}
    return run


def test_what_a_skip_back_would_do_again_is_put_before_people() -> None:
    run = replaced()
    steering.edit_state(run.ref, {"ready": True}, **BY)
    steering.skip(run.ref, to="replace", **BY)
    assert desk.effects(desk.drive(run))["replace@2"] == "gated"
    (gate,) = people.gates(run)
    assert f"done again under a new key: {run.ref}:replace is applied" in gate.reason
    assert len(agents.asked) == 2
    people.say(run)
    assert desk.effects(desk.drive(run)) == {
        "replace": "applied", "tell": "applied", "replace@2": "applied", "tell@2": "gated",
    }  # fmt: skip
    people.say(run)
    assert desk.drive(run).state == RunState.COMPLETED


def test_a_fork_of_a_run_that_was_skipped_back_is_asked_about_the_same() -> None:
    run = replaced()
    steering.skip(run.ref, to="replace", **BY)
    runs.hold(run.ref, **BY)
    fork = steering.fork(run.ref, Run.objects.get(pk=run.pk).version, **BY)
    assert desk.effects(desk.drive(fork)) == {"replace@2": "gated"}


def test_a_skip_forward_and_a_loop_of_the_code_are_asked_about_nothing() -> None:
    @step(retries=0)
    def turn(self: Any, run: RunContext) -> Next:
        run.effect(shelve_it, sku=str(run.visit))
        if run.visit == 2 and not run.state.get("ready"):
            raise ValueError("not ready")
        following: Next = self.turn if run.visit < 3 else self.last
        return following

    @step(retries=0)
    def skipped(self: Any, run: RunContext) -> Next:
        raise ValueError("never")

    @step
    def last(self: Any, run: RunContext) -> Next:
        run.effect(shelve_it, sku="last")
        return None

    agents.define("Turning", turn, skipped, last)
    run = desk.drive(agents.start("Turning"))
    steering.edit_state(run.ref, {"ready": True}, **BY)
    steering.skip(run.ref, to="skipped", **BY)
    desk.drive(run)
    steering.skip(run.ref, **BY)
    assert desk.drive(run).state == RunState.COMPLETED
    assert desk.effects(run) == {"turn": "applied", "turn@2": "applied", "last": "applied"}
