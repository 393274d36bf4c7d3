"""Helpers of the tests of invented history: filling a database, and what the catalogue says of its guards."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import connections

from local.demodata import load
from local.demodata.cast import plan


def order(runs: int, *, seed: int = 1, processes: int = 0) -> load.Order:
    """An order for so many runs of the last two years."""
    return load.Order(plan(runs=runs, seed=seed), seed, 2.0, datetime.now(UTC), processes)


def fill(runs: int, **more: int) -> load.Made:
    """Fill the test's database."""
    return load.fill(order(runs, **more), lambda line: None)


def guards() -> list[tuple[object, ...]]:
    """Triggers, constraints, indexes and rights of all tables, each as the catalogue defines it."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            """
            SELECT 'trigger', tgname::text, pg_get_triggerdef(oid), tgenabled::text FROM pg_trigger
            WHERE NOT tgisinternal
            UNION ALL
            SELECT 'constraint', conrelid::regclass || ' ' || conname, pg_get_constraintdef(oid), convalidated::text
            FROM pg_constraint WHERE connamespace = 'public'::regnamespace
            UNION ALL
            SELECT 'index', indexrelid::regclass::text, pg_get_indexdef(indexrelid), indisvalid::text FROM pg_index
            WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
            UNION ALL
            SELECT 'rights', relname::text, relacl::text, relkind::text FROM pg_class
            WHERE relnamespace = 'public'::regnamespace
            ORDER BY 1, 2, 3
            """
        )
        return cursor.fetchall()
