"""What is left to the sweeper: hints that nobody hears, and runs that it drives itself, hanging ones too."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from durable import draining, recovery, runner, wakeup
from durable.author import Next, RunContext, seconds, step
from durable.management.commands.sweep import StandIn
from durable.models import Run
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    one = StandIn()
    yield one
    for child in one.running:
        child.process.kill()
        child.process.join()


def test_a_process_that_hangs_makes_room_once_its_lease_is_over(
    stand_in: StandIn, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @step(timeout=seconds(0.2))
    def hang(self: Any, run: RunContext) -> Next:
        signal.pthread_sigmask(
            signal.SIG_BLOCK, [signal.SIGALRM]
        )  # as in a library that lets no signal through
        Event().wait(60)
        return None

    settings.LEASE_SECONDS = timedelta(seconds=1)
    monkeypatch.setattr(wakeup, "publish", lambda run_ref: False)  # the broker is away
    agents.define("Hanger", hang)
    run = agents.start("Hanger")
    stand_in.take(run.ref)
    stand_in.work()
    (hanging,) = stand_in.running
    desk.until(lambda: Run.objects.filter(pk=run.pk, attempt=1).exists(), 30)

    def due_again() -> bool:
        recovery.hint(stand_in.take)
        return run.ref in stand_in.waiting

    desk.until(due_again, 60)
    desk.until(lambda: not hanging.process.is_alive(), 20)
    stand_in.work()
    assert hanging not in stand_in.running


def test_a_hint_that_can_not_be_passed_on_is_left_to_the_next_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    run = agents.start("Looper")
    monkeypatch.setattr(wakeup, "publish", lambda run_ref: False)
    draining.begin()
    try:
        assert not runner.drive(run.ref)
    finally:
        draining.renew()
    assert Run.objects.get(pk=run.pk).hinted_at is None
