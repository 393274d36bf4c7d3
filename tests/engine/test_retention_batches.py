"""Pruning goes on until nothing is due, passes over what fails, and leaves what a failed run's retry is answered by."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from durable import clock, retention, steering
from durable.author import Budget, GiveUp, Next, RunContext, step
from durable.models import Checkpoint, Frozen, Run
from durable.retention import pruning
from durable.states import RunState
from tests.engine import agents, desk
from tests.engine.resting import ended

pytestmark = pytest.mark.django_db(transaction=True)
WEEK = timedelta(days=7)


def kept(run: Run) -> int:
    return Checkpoint.objects.filter(run=run).count()


def test_pruning_goes_on_batch_after_batch_until_nothing_is_due() -> None:
    runs = ended(5)
    assert retention.prune(batch=2).runs == 5
    assert [kept(run) for run in runs] == [1] * 5


def test_pruning_stops_when_its_time_is_over_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = ended(3)
    now = iter(range(100))
    monkeypatch.setattr(clock, "elapsed", lambda: float(next(now)))
    assert retention.prune(batch=1, within=timedelta(seconds=1)).runs == 1
    assert sorted(kept(run) for run in runs) == [1, 3, 3]
    assert retention.prune(batch=1, within=timedelta(seconds=90)).runs == 2


def test_a_run_that_can_not_be_pruned_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    bad, *good = ended(3)
    bite = pruning._bite

    def picky(run_ref: str, *args: Any) -> retention.Pruned:
        if run_ref == bad.ref:
            raise RuntimeError("no")
        return bite(run_ref, *args)

    monkeypatch.setattr(pruning, "_bite", picky)
    assert retention.prune(batch=1).runs == 2
    assert [kept(run) for run in good] == [1, 1] and kept(bad) == 3


def test_a_failed_run_keeps_what_was_frozen_where_it_stands_and_a_retry_is_answered_by_it() -> None:
    @step
    def early(self: Any, run: RunContext) -> Next:
        run.call(agents.read_price, sku="CUP")
        return self.late

    @step
    def late(self: Any, run: RunContext) -> Next:
        run.result = run.model(agents.think, "q", tokens=50)
        answers.append(run.result)
        if len(answers) == 1:
            raise GiveUp("not today")
        return None

    answers: list[Any] = []
    run = desk.drive(desk.drive(agents.run_of(early, late, budget=Budget(tokens=500))))
    assert run.state == RunState.FAILED
    desk.time_passes(days=30)
    assert retention.prune().frozen == 1
    assert [one.step for one in Frozen.objects.all()] == ["late"]
    assert retention.prune() == retention.Pruned()
    asked = len(agents.asked)
    steering.retry(run.ref, actor="olga", reason="because")
    assert desk.drive(run).state == RunState.COMPLETED
    assert answers[0] == answers[1] and len(agents.asked) == asked


def test_whose_retention_is_over_is_found_by_an_index() -> None:
    ended(1)
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        try:
            plan = Run.objects.filter(ended_at__lt=a_week_ago()).order_by("ended_at").explain()
        finally:
            cursor.execute("SET enable_seqscan = on")
    assert "run_ended" in plan


def a_week_ago() -> Any:
    return clock.db_now() - WEEK
