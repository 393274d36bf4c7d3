"""A cancel or a hold that comes while a step is executed."""

from __future__ import annotations

from typing import Any

import pytest

from durable import runs
from durable.author import GiveUp, Next, RunContext, minutes, step
from durable.models import Attempt, Wait
from durable.states import RunState
from tests.engine import agents, desk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("world")]


@pytest.mark.parametrize("ends", ["fails", "gives up", "ends", "suspends"])
def test_a_cancel_during_a_step_wins_however_the_step_ends(ends: str) -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        runs.cancel(run.ref, actor="olga", reason="no longer wanted")
        if ends == "fails":
            raise ValueError
        if ends == "gives up":
            raise GiveUp("well then")
        if ends == "suspends":
            run.sleep(minutes(5))
        return None

    run = desk.drive(agents.run_of(act))
    assert run.state == RunState.CANCELLED
    assert not Wait.objects.filter(run=run, state="open").exists()
    assert list(Attempt.objects.filter(run=run).values_list("how", flat=True)) == ["ended"]


@pytest.mark.parametrize("ends", ["fails", "ends", "goes on", "suspends"])
def test_a_hold_during_a_step_stops_the_run_however_the_step_ends(ends: str) -> None:
    went: list[str] = []

    @step
    def act(self: Any, run: RunContext) -> Next:
        went.append("act")
        if len(went) > 1:
            return None
        runs.hold(run.ref, actor="olga", reason="let me see")
        if ends == "fails":
            raise ValueError
        if ends == "suspends":
            run.sleep(minutes(5))
        following: Next = self.after if ends == "goes on" else None
        return following

    @step
    def after(self: Any, run: RunContext) -> Next:
        went.append("after")
        return None

    run = desk.drive(agents.run_of(act, after))
    assert (run.state, run.held) == (RunState.SUSPENDED, True)
    desk.time_passes(hours=1)
    desk.drive(run)
    assert went == ["act"]
    runs.release(run.ref, actor="olga", reason="all is well")
    desk.drive(run)
    assert run.state == RunState.COMPLETED
