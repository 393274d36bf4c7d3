"""Acts that several do at the same moment, each on a database connection of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

PATIENCE = 20.0


def at_once(*acts: Callable[[], Any], loses: type[Exception] | tuple[type[Exception], ...] = ()) -> list[Any]:
    """Do all of them from one barrier on. Returns what each returned, in order; who met an exception of the kinds in
    `loses` has that exception in its place. Any other exception fails the test.
    """
    line = Barrier(len(acts))

    def do(act: Callable[[], Any]) -> Any:
        try:
            line.wait(PATIENCE)
            return act()
        except loses as lost:
            return lost
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [one.result(PATIENCE) for one in [pool.submit(do, act) for act in acts]]


def somebody_waits() -> bool:
    """Whether another session stands before a lock that this one holds. Within a transaction the server would go on
    showing the sessions as they were at the first look; locks it shows as they are.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        )
        return cursor.fetchone() is not None
