"""A cancel or a hold that comes while a step is executed."""

from __future__ import annotations

from typing import Any

import pytest

from durable import runs, steering
from durable.author import GiveUp, Next, RunContext, minutes, step
from durable.errors import Conflict
from durable.models import Attempt, Run, Wait
from durable.states import RunState
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)


@step
def gives_up(self: Any, run: RunContext) -> Next:
    """Fails its run, on purpose."""
    raise GiveUp("well then")


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


@pytest.mark.parametrize("ends", ["fails", "gives up", "ends", "goes on", "suspends"])
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
        if ends == "gives up":
            raise GiveUp("well then")
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


def test_a_run_that_was_held_while_it_failed_ends_held_by_nobody_and_can_be_retried() -> None:
    """As one that gave up under an older version, which let a hold be overtaken so."""

    run = agents.run_of(gives_up)
    Run.objects.filter(pk=run.pk).update(state=RunState.FAILING.value, held=True)
    assert (desk.drive(run).state, run.held) == (RunState.FAILED, False)
    steering.retry(run.ref, actor="olga", reason="once more")
    run.refresh_from_db()
    assert run.state == RunState.QUEUED


def test_a_failed_run_that_is_held_is_released_before_it_is_retried() -> None:
    run = agents.run_of(gives_up)
    Run.objects.filter(pk=desk.drive(desk.drive(run)).pk).update(held=True)
    with pytest.raises(Conflict, match="is held; release it before it is retried"):
        steering.retry(run.ref, actor="olga", reason="once more")
    runs.release(run.ref, actor="olga", reason="all is well")
    steering.retry(run.ref, actor="olga", reason="once more")
    run.refresh_from_db()
    assert (run.state, run.held) == (RunState.QUEUED, False)
