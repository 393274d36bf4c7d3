"""Timers, outside events and holds: one mechanism, in whichever order the answer and the wait come."""

from __future__ import annotations

from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from durable import claims, faults, recovery, runs, suspending, transitions, waits
from durable.author import EventTimeout, Next, RunContext, hours, minutes, step
from durable.errors import Conflict, Invalid, NotFound
from durable.models import Run, Signal, Wait
from durable.states import RunState, WaitKind
from durable.transitions import Claim
from durable.waits import WaitSpec
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)


@step
def listen(self: Any, run: RunContext) -> Next:
    """Wait for two parcels, or do without."""
    try:
        run.state["first"] = run.wait_for("parcel", within=hours(1))
        run.state["second"] = run.wait_for("parcel", within=hours(1))
    except EventTimeout as late:
        run.state["late"] = str(late)
    run.result = run.state
    return None


@step
def nap(self: Any, run: RunContext) -> Next:
    """Sleep twice."""
    run.sleep(hours(1))
    run.sleep(minutes(1))
    return None


def listener() -> Run:
    agents.define("Listener", listen)
    return agents.start("Listener")


def napper() -> Run:
    agents.define("Napper", nap)
    return desk.drive(agents.start("Napper"))


# Timers


def test_a_sleep_costs_nothing_and_ends_when_its_time_has_come() -> None:
    run = napper()
    assert (run.state, run.lease_until, run.due_at, run.worker) == (RunState.SUSPENDED, None, None, "")
    recovery.sweep()
    assert desk.drive(run).state == RunState.SUSPENDED
    desk.time_passes(hours=1)
    recovery.sweep()
    desk.drive(run)
    assert [wait.state for wait in run.waits.order_by("id")] == ["resolved", "open"]
    desk.time_passes(minutes=1)
    recovery.sweep()
    assert desk.drive(run).state == RunState.COMPLETED


def test_a_suspended_run_is_touched_by_no_sweep() -> None:
    run = napper()
    before = Run.objects.values().get(pk=run.pk)
    with CaptureQueriesContext(connection) as queries:
        assert sum(recovery.sweep().values()) == 0
    assert [
        q["sql"] for q in queries if q["sql"].startswith("UPDATE") and "RETURNING ref" not in q["sql"]
    ] == []
    assert Run.objects.values().get(pk=run.pk) == before


@pytest.mark.parametrize("length", [timedelta(seconds=-1), timedelta(days=999_999)])
def test_a_sleep_of_an_impossible_length_is_refused(length: timedelta) -> None:
    @step(retries=0)
    def sleep(self: Any, run: RunContext) -> Next:
        run.sleep(length)
        return None

    agents.define("Sleeper", sleep)
    run = desk.drive(agents.start("Sleeper"))
    assert "length: must be from 0 to" in Wait.objects.get(run=run).detail["sentence"]


# Events


def test_an_event_that_comes_after_its_wait_wakes_the_run() -> None:
    run = desk.drive(listener())
    assert waits.deliver(run.ref, "parcel", {"no": 1}, dedupe="a")
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    desk.drive(run)
    waits.deliver(run.ref, "parcel", {"no": 2}, dedupe="b")
    desk.drive(run)
    assert run.result == {"first": {"no": 1}, "second": {"no": 2}}


def test_an_event_that_comes_before_its_wait_is_kept_for_it() -> None:
    run = listener()
    waits.deliver(run.ref, "parcel", 1, dedupe="a")
    waits.deliver(run.ref, "parcel", 2, dedupe="b")
    waits.deliver(run.ref, "letter", 3, dedupe="c")
    while desk.drive(run).state == RunState.QUEUED:
        pass
    assert run.result == {"first": 1, "second": 2}
    assert list(Signal.objects.filter(consumed_by=None).values_list("name", flat=True)) == ["letter"]


def test_a_doubled_delivery_is_one_event() -> None:
    run = desk.drive(listener())
    assert waits.deliver(run.ref, "parcel", 1, dedupe="a")
    assert not waits.deliver(run.ref, "parcel", 1, dedupe="a")
    desk.drive(run)
    assert run.state == RunState.SUSPENDED
    assert Signal.objects.count() == 1


def test_an_event_that_does_not_come_is_told_to_the_step() -> None:
    run = desk.drive(listener())
    desk.time_passes(hours=2)
    recovery.sweep()
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert run.result["late"] == "parcel did not come within 1:00:00"
    assert run.waits.get().state == "expired"


def test_an_event_after_the_time_was_over_is_not_taken_for_the_one_that_was_waited_for() -> None:
    run = desk.drive(listener())
    desk.time_passes(hours=2)
    recovery.sweep()
    waits.deliver(run.ref, "parcel", 1, dedupe="a")
    desk.drive(run)
    assert "first" not in (run.result or {})


def test_an_event_that_comes_while_the_run_is_about_to_suspend_is_not_lost() -> None:
    run = listener()
    hold = transitions.hold_claim

    def late(claim: Claim) -> Run:
        """The step has found nothing and is about to wait: now the event comes."""
        desk.meanwhile(lambda: waits.deliver(run.ref, "parcel", 1, dedupe="a"))
        return hold(claim)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suspending, "hold_claim", late)
        desk.drive(run)
    assert run.state == RunState.QUEUED
    desk.drive(run)
    assert run.waits.order_by("id").first().answer == 1


def test_an_answer_between_looking_and_suspending_queues_the_run_at_once() -> None:
    run = agents.start("Looper")
    claim = claims.claim(run.ref)
    assert claim is not None
    assert suspending.suspend(claim, [], None) == RunState.QUEUED


def test_a_suspension_and_a_delivery_at_the_same_moment_do_not_pass_each_other() -> None:
    run = listener()
    thread = Thread(target=lambda: (waits.deliver(run.ref, "parcel", 1, dedupe="a"), connection.close()))
    faults.arm("suspend.before_commit", thread.start)
    desk.drive(run)
    thread.join()
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    assert run.waits.get().answer == 1


@pytest.mark.parametrize(
    ("name", "dedupe", "payload", "field"),
    [
        ("", "a", 1, "name"),
        ("x", "", 1, "dedupe"),
        ("a\x00", "a", 1, "name"),
        ("x", "a", "\ud800", "payload"),
    ],
)
def test_a_bad_event_is_refused_and_nothing_is_kept(name: str, dedupe: str, payload: Any, field: str) -> None:
    run = listener()
    with pytest.raises(Invalid) as refused:
        waits.deliver(run.ref, name, payload, dedupe=dedupe)
    assert refused.value.field == field
    assert not Signal.objects.exists()


def test_an_event_for_nobody_is_refused() -> None:
    with pytest.raises(NotFound):
        waits.deliver("run-none", "parcel", 1, dedupe="a")
    run = desk.drive(agents.start("Looper"))
    with pytest.raises(Conflict, match="completed"):
        waits.deliver(run.ref, "parcel", 1, dedupe="a")


# Holds


def hold(run: Run) -> Run:
    runs.hold(run.ref, actor="olga", reason="let me see")
    run.refresh_from_db()
    return run


def release(run: Run) -> Run:
    runs.release(run.ref, actor="olga", reason="go on")
    run.refresh_from_db()
    return run


def test_a_queued_run_can_be_held_and_released() -> None:
    run = hold(agents.start("Looper"))
    assert claims.claim(run.ref) is None
    assert run.state == RunState.SUSPENDED
    assert release(run).state == RunState.QUEUED
    assert desk.drive(run).state == RunState.COMPLETED


def test_what_comes_due_while_a_run_is_held_waits_for_the_release() -> None:
    run = hold(napper())
    desk.time_passes(hours=2)
    recovery.sweep()
    run.refresh_from_db()
    assert run.state == RunState.SUSPENDED
    release(run)
    assert desk.drive(run).waits.filter(kind="timer", state="resolved").count() == 1


def test_a_run_whose_worker_died_while_it_was_held_stays_where_it_was() -> None:
    run = agents.start("Looper")
    claims.claim(run.ref)
    hold(run)
    desk.time_passes(minutes=5)
    desk.drive(run)
    assert (run.state, run.held, run.version) == (RunState.SUSPENDED, True, 1)
    assert run.budget.steps_used == 0
    release(run)
    assert desk.drive(run).state == RunState.COMPLETED


def test_a_release_does_not_retry_a_run_that_is_stuck() -> None:
    @step(retries=0)
    def fail(self: Any, run: RunContext) -> Next:
        agents.asked.append(("fail", 1))
        raise ValueError

    agents.define("Failing", fail)
    run = hold(desk.drive(agents.start("Failing")))
    release(run)
    desk.drive(run)
    assert run.state == RunState.SUSPENDED
    assert len(agents.asked) == 1


def test_holding_twice_and_releasing_what_is_not_held_are_refused() -> None:
    run = napper()
    with pytest.raises(Conflict, match="not held"):
        release(run)
    hold(run)
    with pytest.raises(Conflict, match="held already"):
        hold(run)


@pytest.mark.parametrize("state", ["completed", "cancelled", "failed", "cancelling"])
def test_a_run_on_its_way_out_can_not_be_held(state: str) -> None:
    run = agents.start("Looper")
    Run.objects.filter(pk=run.pk).update(state=state)
    with pytest.raises(Conflict, match=state):
        hold(run)


def test_every_wait_has_a_deadline_or_somebody_it_waits_for() -> None:
    run = agents.start("Looper")
    with pytest.raises(Exception, match="wait_has_deadline_or_person"):
        waits.open_wait(run, WaitSpec(WaitKind.EVENT, "nobody"))
