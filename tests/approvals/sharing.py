"""What the tests of one module share, so that it is not made anew for each: the database holds it until the last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.test import override_settings


@contextmanager
def apart(blocker: Any) -> Iterator[None]:
    """For fixtures of a whole module: a database and tools as a test has them, and nothing left afterwards."""
    with blocker.unblock(), override_settings(INTERLOCK_AGENTS=("tests.factories",)), rolled_back():
        # Events that earlier tests took back have left a gap in the ids, and are nothing that waits for the indexer.
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE durable_indexed SET done = (SELECT last_value FROM durable_ledgerevent_id_seq)"
            )
        yield


@contextmanager
def rolled_back() -> Iterator[None]:
    """For one test within that, or for all of it: whatever the block writes is gone afterwards."""
    atomic = transaction.atomic()
    # As Django's own tests have it: what wants to be outermost takes it for that.
    atomic._from_testcase = True  # type: ignore[attr-defined]  # django-stubs knows the public ones
    with atomic:
        yield
        transaction.set_rollback(True)
