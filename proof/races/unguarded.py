"""Guards taken out, for controls: each stands for one way in which the engine could have been written.

Nothing in the product can do this. A block replaces a function or a statement of this process, and puts it back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from approvals import gate_rows
from durable.models import rows
from durable.transitions import locks, moves

#: Seconds between what a control checks and what it then writes: long enough for others to check the same.
BETWEEN = 0.004


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """`owner.name` is `value` for the block."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def without(statement: str, part: str, instead: str = "") -> str:
    """Return an SQL statement without one part of it, which must be there, or with another `instead`."""
    if part not in statement:
        raise ValueError(f"the statement has no {part!r} (any more)")
    return statement.replace(part, instead)


@contextmanager
def row_locks() -> Iterator[None]:
    """No SELECT locks what it reads."""
    with (
        replaced(type(connection.ops), "for_update_sql", lambda *_args, **_more: ""),
        replaced(locks, "LOCK_RUN", without(locks.LOCK_RUN, "FOR UPDATE OF r")),
        replaced(locks, "LOCK_WAIT", without(locks.LOCK_WAIT, "FOR UPDATE")),
        replaced(locks, "LOCK_EFFECT", without(locks.LOCK_EFFECT, "FOR UPDATE")),
        replaced(gate_rows, "LOCK", without(gate_rows.LOCK, "FOR UPDATE OF g")),
    ):
        yield


def until_somebody_waits() -> None:
    """Wait until another session stands before a lock that this one holds, for a second at most."""
    end = time.monotonic() + 1.0
    with connection.cursor() as cursor:
        while time.monotonic() < end:
            cursor.execute(
                "SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            )
            if cursor.fetchone():
                return
            time.sleep(0.001)


def _update_late(*given: Any) -> bool:
    time.sleep(BETWEEN)
    return rows.update(*given)


@contextmanager
def checks_under_lock() -> Iterator[None]:
    """Neither locks nor conditional updates: everybody checks first, and then writes."""
    with (
        row_locks(),
        replaced(rows, "BELIEVED", ""),
        replaced(moves, "update", _update_late),
    ):
        yield
