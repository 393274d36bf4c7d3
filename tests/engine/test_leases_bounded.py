"""Leases end: whoever hangs in foreign code for longer than that may take is replaced, however alive its process is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from durable import faults, journal, reconcile, runner
from durable.author import Absent, Call, LookupAnswer, Next, RunContext, seconds, step
from durable.models import Attempt, Run
from durable.states import RunState
from tests.engine import agents, desk
from tests.engine.scenes import Killed, die

pytestmark = pytest.mark.django_db(transaction=True)
SHORT, LONG = timedelta(seconds=0.6), timedelta(seconds=15)


class Hanging:
    """Foreign code that hangs the first time that it is called, until the test lets it go."""

    def __init__(self) -> None:
        self.inside, self.over = threading.Event(), threading.Event()

    def __call__(self, *_: object) -> None:
        if not self.inside.is_set():
            self.inside.set()
            assert self.over.wait(60), "nobody let it go"


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    """Let go at the end, whatever the test did."""
    one = Hanging()
    yield one
    one.over.set()


@contextmanager
def worker(run: Run, hanging: Hanging, settings: Any) -> Iterator[None]:
    """A worker of this process, in a thread, with a short lease; it hangs for the length of the block."""

    def drive() -> None:
        try:
            runner.drive(run.ref)
        finally:
            connection.close()

    settings.LEASE_SECONDS = SHORT
    thread = threading.Thread(target=drive)
    thread.start()
    try:
        assert hanging.inside.wait(10)
        settings.LEASE_SECONDS = LONG
        yield
    finally:
        hanging.over.set()
        thread.join(20)
    assert not thread.is_alive()
    run.refresh_from_db()


def replaced(run: Run) -> None:
    """Another worker gets the run, and brings it to its end."""
    desk.until(lambda: runner.drive(run.ref))
    run.refresh_from_db()
    assert run.state == RunState.COMPLETED
    hows = Attempt.objects.filter(run=run).order_by("number").values_list("how", flat=True)
    assert list(hows)[-2:] == ["lost", "ended"]


def test_a_tool_that_hangs_past_its_send_by_is_replaced_and_its_answer_comes_late(
    hanging: Hanging, settings: Any
) -> None:
    agents.meanwhile.append(hanging)
    run = agents.start("Walker")
    with worker(run, hanging, settings):
        replaced(run)
        before = journal.events(run.ref)
    assert run.state == RunState.COMPLETED
    after = journal.events(run.ref)[len(before) :]
    assert [event.kind for event in after] == ["late answer"]
    assert len(agents.moved) == 1, "the money moved once"
    assert desk.effects(run) == {"act": "applied"}


def test_a_look_up_that_hangs_is_replaced(
    hanging: Hanging, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(call: Call) -> LookupAnswer:
        hanging()
        return agents.moved.get(call.key, Absent())

    monkeypatch.setattr(agents.pay, "lookup_function", find)
    monkeypatch.setattr(reconcile, "LOOKUP_TIMEOUT", 0.2)
    run = agents.start("Walker")
    faults.arm("outcome.before_commit", die)
    with pytest.raises(Killed):
        desk.drive(run)
    desk.time_passes(minutes=5)
    with worker(run, hanging, settings):
        replaced(run)
    assert run.state == RunState.COMPLETED and len(agents.moved) == 1


def test_a_step_that_hangs_past_its_time_limit_is_replaced_and_writes_nothing(
    hanging: Hanging, settings: Any
) -> None:
    """In a thread no alarm reaches it, as no alarm reaches code that waits inside a library."""

    @step(timeout=seconds(0.3))
    def wait(self: Any, run: RunContext) -> Next:
        hanging()
        run.result = "done"
        return None

    agents.define("Waiter", wait)
    run = agents.start("Waiter")
    with worker(run, hanging, settings):
        replaced(run)
        before = Run.objects.values().get(pk=run.pk)
    assert Run.objects.values().get(pk=run.pk) == before


def test_a_step_inside_its_time_limit_keeps_its_lease_however_long_it_takes(
    hanging: Hanging, settings: Any
) -> None:
    @step(timeout=seconds(60))
    def wait(self: Any, run: RunContext) -> Next:
        hanging()
        return None

    agents.define("Waiter", wait)
    run = agents.start("Waiter")
    with worker(run, hanging, settings):
        first = lease(run)
        desk.until(lambda: lease(run) > first + 4 * SHORT)
        assert not runner.drive(run.ref)
    assert (run.state, run.attempt) == (RunState.COMPLETED, 1)


def lease(run: Run) -> Any:
    return Run.objects.values_list("lease_until", flat=True).get(pk=run.pk)


def test_who_comes_back_before_anybody_took_its_place_goes_on(
    hanging: Hanging, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    agents.meanwhile.append(hanging)
    run = agents.start("Walker")
    with worker(run, hanging, settings):
        desk.until(lambda: "hangs" in caplog.text)
        Run.objects.filter(pk=run.pk).update(lease_until=lease(run) + timedelta(minutes=5))
    assert (run.state, run.attempt) == (RunState.COMPLETED, 1)
    assert caplog.text.count("hangs") == 1
