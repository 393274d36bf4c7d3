"""A worker whose clock is an hour off decides as any other: no moment is taken from it."""

from __future__ import annotations

import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest

from approvals.models import Gate
from durable import journal, runner
from durable.models import Wait
from proof import drive
from proof.stage import Stage
from tests.process import house
from tests.process.house import Ticket
from tests.vendors import Vendor

pytestmark = pytest.mark.process
HOUR = 3600
#: What Python reads when it starts. `datetime.now` does not follow `time.time`, so Django's clock is moved too.
SKEWED = """
import time
from datetime import timedelta
from django.utils import timezone
_time, _ns, _now, _by = time.time, time.time_ns, timezone.now, {by}
time.time = lambda: _time() + _by
time.time_ns = lambda: _ns() + _by * 10**9
timezone.now = lambda: _now() + timedelta(seconds=_by)
"""


def drive_with(on: Stage, folder: Path, ticket: Ticket, *, off: int) -> None:
    """Drive a run in a process whose clock is `off` seconds off; with a clock that is right, in this one."""
    if not off:
        assert runner.drive(ticket.run.ref)
        return
    place = folder / f"off{off}"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(SKEWED.format(by=off))
    # The longest lease that is still short: a worker that took its own clock for the truth would have lost it.
    child = on.start(drive.command(ticket.run.ref), PYTHONPATH=str(place), LEASE_SECONDS="30")
    assert child.wait(house.PATIENCE) == 0, on.said()


def story(ticket: Ticket) -> list[str]:
    """What the run's ledger says, in order."""
    return [event.kind for event in journal.events(ticket.run.ref)]


def test_a_worker_whose_clock_is_an_hour_off_decides_as_one_whose_clock_is_right(
    on: Stage, vendor: Vendor, tmp_path: Path
) -> None:
    clocks = {"right": 0, "fast": HOUR, "slow": -HOUR}
    lost, gated = {}, {}
    for name, off in clocks.items():
        lost[name] = Ticket(vendor, f"lost-{name}").start()
        vendor.fault("drop", method="POST", contains=lost[name].charge)
        gated[name] = Ticket(vendor, f"gated-{name}", paid="184.50").start()
        for ticket in (lost[name], gated[name]):
            drive_with(on, tmp_path, ticket, off=off)
        opened = Gate.objects.get(effect__run=gated[name].run)
        wait = Wait.objects.get(pk=opened.wait_id)
        assert abs((opened.decide_by - wait.opened_at).total_seconds() - 3 * 86_400) < 60
        house.approve(gated[name])
        drive_with(on, tmp_path, gated[name], off=off)

    for tickets in (lost, gated):
        assert {name: story(one) for name, one in tickets.items()} == {
            name: story(tickets["right"]) for name in clocks
        }
        assert [one.ended() for one in tickets.values()] == [True] * 3
    assert [one.moved() for one in lost.values()] == [[Decimal("40.00")]] * 3
    assert [one.moved() for one in gated.values()] == [[Decimal("184.50")]] * 3


def test_a_skewed_process_really_has_another_clock(on: Stage, tmp_path: Path) -> None:
    place = tmp_path / "off"
    place.mkdir()
    (place / "sitecustomize.py").write_text(SKEWED.format(by=HOUR))
    child = on.start((sys.executable, "-c", "import time; print(time.time())"), PYTHONPATH=str(place))
    assert child.wait(20) == 0
    assert HOUR - 20 < float(on.said()) - time.time() < HOUR + 20
