"""The sweeper: with no message at all, everything that is due is found."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection

from durable import claims, recovery, runs, waits
from durable.models import Effect, Run, Wait
from durable.states import RunState
from durable.transitions import lock_run
from tests.engine import agents, desk
from tests.engine.resting import gated, napping
from tests.together import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("heard")]


def test_a_run_that_no_message_announced_is_found_and_hinted_once(heard: list[str]) -> None:
    run = agents.start("Looper")
    heard.clear()
    desk.time_passes(minutes=1)
    assert recovery.sweep()["hints"] == 1
    assert recovery.sweep()["hints"] == 0
    assert heard == [run.ref]
    desk.time_passes(minutes=1)
    assert recovery.sweep()["hints"] == 1


def test_a_run_whose_worker_is_gone_is_found(heard: list[str]) -> None:
    run = agents.start("Looper")
    claims.claim(run.ref)
    heard.clear()
    recovery.sweep()
    assert heard == []
    desk.time_passes(minutes=5)
    recovery.sweep()
    assert heard == [run.ref]


def test_a_timer_that_is_over_wakes_its_run(heard: list[str]) -> None:
    run = napping()
    heard.clear()
    assert recovery.sweep()["waits"] == 0
    desk.time_passes(hours=1)
    assert recovery.sweep()["waits"] == 1
    assert run.ref in heard
    assert desk.drive(run).state == RunState.COMPLETED


def test_a_gate_that_nobody_decided_expires_which_is_not_a_rejection() -> None:
    run = gated()
    desk.time_passes(days=30)
    recovery.sweep()
    assert list(desk.effects(run).values()) == ["expired"]
    assert list(Wait.objects.values_list("state", flat=True)) == ["expired"]
    assert agents.asked == []


def test_a_suspended_run_that_waits_for_nothing_goes_on() -> None:
    run = napping()
    Wait.objects.filter(run=run).update(state="resolved")
    assert recovery.sweep()["lonely"] == 1
    assert desk.drive(run).state == RunState.COMPLETED


def test_a_held_run_is_never_lonely() -> None:
    run = napping()
    runs.hold(run.ref, actor="olga", reason="wait")
    Wait.objects.filter(run=run).update(state="resolved")
    assert recovery.sweep()["lonely"] == 0


def test_an_ending_run_that_waits_for_nothing_comes_to_its_end() -> None:
    run = napping()
    runs.cancel(run.ref, actor="olga", reason="enough")
    Wait.objects.filter(run=run).update(state="resolved")
    Run.objects.filter(pk=run.pk).update(due_at=None)
    assert recovery.sweep()["lonely"] == 1
    assert desk.drive(run).state == RunState.CANCELLED


def test_an_open_effect_of_an_ended_run_is_put_before_a_person_once() -> None:
    run = desk.drive(agents.start("Walker"))
    Effect.objects.filter(run=run).update(state="pending")
    assert recovery.sweep()["orphans"] == 1
    assert recovery.sweep()["orphans"] == 0
    wait = Wait.objects.get(run=run, state="open")
    assert (wait.kind, wait.waits_for) == ("attention", "operator")


def test_two_sweepers_at_once_do_no_harm() -> None:
    run, letter = napping(), gated()
    desk.time_passes(days=30)
    at_once(recovery.sweep, recovery.sweep)
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    assert list(desk.effects(letter).values()) == ["expired"]
    assert list(Wait.objects.order_by("id").values_list("state", flat=True)) == ["resolved", "expired"]


@pytest.mark.parametrize("error", [IntegrityError("no"), ValueError("no"), RuntimeError("no")])
def test_one_bad_item_never_stops_the_rest(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = napping(), napping()
    resolve = waits.resolve

    def picky(run: Run, *args: Any, **more: Any) -> bool:
        if run.pk == bad.pk:
            raise error
        return resolve(run, *args, **more)

    monkeypatch.setattr(waits, "resolve", picky)
    desk.time_passes(hours=1)
    recovery.sweep()
    good.refresh_from_db()
    assert good.state == RunState.QUEUED


def test_one_bad_query_never_stops_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = napping(), napping()
    lock = lock_run

    def broken(ref: str) -> Run:
        if ref == bad.ref:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return lock(ref)

    monkeypatch.setattr(recovery, "lock_run", broken)
    desk.time_passes(hours=1)
    recovery.sweep()
    good.refresh_from_db()
    assert good.state == RunState.QUEUED


def test_a_doubt_that_can_not_be_looked_up_does_not_stand_before_the_others() -> None:
    run = desk.drive(agents.start("Walker"))
    Effect.objects.filter(run=run).update(state="in doubt", tool="gone", next_look_at=run.created_at)
    assert recovery.sweep()["doubts"] == 1
    assert recovery.sweep()["doubts"] == 0
