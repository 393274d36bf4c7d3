"""The database's clock decides; a process measures on one that never stops."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.db import connection, transaction

from durable.clock import db_now, elapsed


@pytest.mark.django_db
def test_the_databases_clock_moves_on_inside_a_transaction() -> None:
    with transaction.atomic():
        first, second = db_now(), db_now()
    assert second > first


@pytest.mark.django_db
def test_the_databases_clock_speaks_utc() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        (before,) = cursor.fetchone()
    now = db_now()
    assert now.utcoffset() == timedelta(0)
    assert 0 <= now.timestamp() - before < 5


def test_elapsed_time_never_goes_back() -> None:
    readings = [elapsed() for _ in range(1000)]
    assert readings == sorted(readings)


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux has CLOCK_BOOTTIME")
def test_elapsed_time_counts_a_sleeping_machine() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= elapsed() <= time.clock_gettime(time.CLOCK_BOOTTIME)
