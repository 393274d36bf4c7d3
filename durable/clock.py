"""The two clocks of the engine. No other clock decides anything.

Leases, deadlines, timers and send-bys are moments on the database's clock, the one clock that all workers
share. How long ago something happened inside one process is measured by `elapsed`.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from durable.sql import answer

# Linux counts a suspended machine on CLOCK_BOOTTIME alone. macOS counts it on CLOCK_MONOTONIC (but not in
# Python's time.monotonic), and Windows, which has no clock_gettime, in time.monotonic.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def db_now() -> datetime:
    """The database's present moment, in UTC: `clock_timestamp()`, which moves on inside a transaction."""
    row = answer("SELECT clock_timestamp()", {})
    assert row is not None
    now: datetime = row[0]
    return now.astimezone(UTC)


def elapsed() -> float:
    """Seconds since a fixed, arbitrary point: never set back, and counting the time that the machine slept.

    Only differences mean anything, and only within one boot of one machine. A worker measures with it how
    long ago its `sent` event was: after a suspended laptop wakes up, the request must be seen as too late.
    """
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
