"""What no page may change by being looked at."""

from __future__ import annotations

from typing import Any

from django.db import connection


def world() -> tuple[Any, ...]:
    """Everything that a page could have changed; that something was refused stands in the log, and changes nothing."""
    with connection.cursor() as cursor:
        found = []
        for table in ("durable_run", "durable_effect", "durable_wait", "durable_ledgerevent", "approvals_gate",
                      "approvals_decision", "durable_purse"):  # fmt: skip
            rows = "WHERE run_ref LIKE 'run-%'" if table == "durable_ledgerevent" else ""
            cursor.execute(
                f"SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t.id), '')) FROM {table} t {rows}"
            )
            found.append(cursor.fetchone())
    return tuple(found)
