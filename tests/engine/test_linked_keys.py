"""What people are told about an effect whose key is linked to an older one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from durable import recovery, steering
from durable.author import Call, GiveUp, Next, Receipt, RunContext, hours, step, tool
from durable.errors import NotSent
from durable.states import RunState
from tests.engine import agents, desk, people

pytestmark = pytest.mark.django_db(transaction=True)
BY: dict[str, Any] = {"actor": "olga", "reason": "because"}


@tool(idempotent_for=hours(24), vendor="test door")
def ring(call: Call, door: str) -> Receipt:
    """The first time too many ring at once, and nothing happens."""
    agents.asked.append(("ring", door))
    if len(agents.asked) == 1:
        raise NotSent("too many at once", retry_after=timedelta(hours=1))
    return Receipt(f"ring {call.key}", key=call.key)


def test_what_was_withdrawn_after_a_request_that_did_nothing_is_asked_about_as_just_that() -> None:
    gave_up: list[bool] = []

    @step
    def act(self: Any, run: RunContext) -> Next:
        if agents.asked and not gave_up:
            gave_up.append(True)
            raise GiveUp("enough of this")
        run.effect(ring, door="1")
        return None

    run = desk.drive(agents.run_of(act))
    assert desk.effects(run) == {"act": "pending"}
    desk.time_passes(hours=2)
    recovery.sweep()
    assert desk.drive(desk.drive(run)).state == RunState.FAILED
    assert desk.effects(run) == {"act": "withdrawn"}
    steering.retry(run.ref, **BY)
    desk.drive(run)
    assert desk.effects(run) == {"act": "withdrawn", "act~2": "gated"}
    (gate,) = people.gates(run)
    assert gate.reason == (
        "the earlier act under the older key was withdrawn, after a request that certainly did nothing"
    )
