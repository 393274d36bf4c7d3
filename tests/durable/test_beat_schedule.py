"""Beat's plan goes by intervals in UTC: no hour that a clock change doubles or leaves out moves any of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery.schedules import maybe_schedule, schedule

from durable.celery import SCHEDULE, app

BERLIN = ZoneInfo("Europe/Berlin")
#: From before to after each change: local times, as in the house.
NIGHTS = {
    "an hour twice": (
        datetime(2026, 10, 25, 1, 30, tzinfo=BERLIN),
        datetime(2026, 10, 25, 4, 30, tzinfo=BERLIN),
        4,
    ),
    "an hour left out": (
        datetime(2026, 3, 29, 1, 30, tzinfo=BERLIN),
        datetime(2026, 3, 29, 4, 30, tzinfo=BERLIN),
        2,
    ),
}


@pytest.mark.parametrize("night", NIGHTS)
@pytest.mark.parametrize("name", SCHEDULE)
def test_what_is_scheduled_comes_at_its_interval_through_both_clock_changes(name: str, night: str) -> None:
    begin, end, hours = NIGHTS[night]
    length = end.astimezone(UTC) - begin.astimezone(UTC)
    assert length == timedelta(hours=hours)
    planned: Any = SCHEDULE[name]["schedule"]
    every: Any = maybe_schedule(planned, app=app)
    kind, zone = type(every), str(app.conf.timezone)
    assert kind is schedule and zone == "UTC" and app.conf.enable_utc
    step = min(every.run_every, timedelta(seconds=15))
    present = last = begin.astimezone(UTC)
    times = []
    while present < end.astimezone(UTC):
        present += step
        every.nowfun = lambda at=present: at.astimezone(BERLIN)
        if every.is_due(last).is_due:
            times.append(present)
            last = present
    apart = {after - before for before, after in zip([begin.astimezone(UTC), *times], times, strict=False)}
    assert apart == {every.run_every} and len(times) == length // every.run_every
