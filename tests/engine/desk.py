"""Helpers of the engine's tests: seed an order at the vendor, start a ticket about it, drive it, make time pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from threading import Thread
from typing import Any

from django.db import connection

from durable import runner, runs
from durable.models import Effect, Run
from tests.vendors import Vendor

#: Every moment of a stored row that the engine compares with the database's clock.
MOMENTS = {
    "durable_run": ("due_at", "lease_until", "hinted_at", "changed_at", "ended_at", "forgotten_since"),
    "durable_budget": ("deadline",),
    "durable_wait": ("deadline", "opened_at", "closed_at"),
    "durable_effect": (
        *("first_sent_at", "last_sent_at", "send_by", "next_look_at", "forgotten_since", "settled_at"),
    ),
    "durable_recovery": ("since", "at"),
    "durable_frozen": ("fetched_at", "fresh_until"),
    "durable_anchor": ("due_at", "failing_since"),
    "approvals_gate": ("opened_at", "decide_by", "act_by"),
}


def time_passes(**length: float) -> None:
    """Let time pass without waiting for it: everything stored happened, or falls due, so much earlier."""
    with connection.cursor() as cursor:
        for table, columns in MOMENTS.items():
            moves = ", ".join(f"{column} = {column} - %s" for column in columns)
            values: list[Any] = [timedelta(**length)] * len(columns)
            cursor.execute(f"UPDATE {table} SET {moves}", values)


def order(vendor: Vendor, *, amount: str = "40.00", currency: str = "EUR", name: str = "8812") -> str:
    """Seed a paid order; returns its id."""
    charge = vendor.seed_charge(amount, currency)
    return vendor.seed_order(name, amount, currency, charge=charge)


def ticket(name: str = "8812", **more: Any) -> dict[str, Any]:
    """A customer's ticket about an order."""
    return {"order": name, "wants": "money", **more}


def start(name: str = "8812", **more: Any) -> Run:
    """Start a refund desk run about an order."""
    return runs.start("RefundDesk", ticket(name, **more), actor="tests")


def drive(run: Run) -> Run:
    """Drive a run as a worker would, until it ends or waits. Returns it as it then stands."""
    runner.drive(run.ref)
    run.refresh_from_db()
    return run


def effects(run: Run) -> dict[str, str]:
    """Key and state of each effect of a run."""
    return {e.key.removeprefix(run.ref + ":"): e.state for e in Effect.objects.filter(run=run).order_by("id")}


def beside(act: Callable[[], Any]) -> Thread:
    """Begin to do something on a connection of its own."""

    def do() -> None:
        try:
            act()
        finally:
            connection.close()

    thread = Thread(target=do)
    thread.start()
    return thread


def meanwhile(act: Callable[[], Any]) -> None:
    """Do something on another connection, and wait for its end."""
    beside(act).join()


def until(true: Callable[[], bool], seconds: float = 10) -> None:
    """Wait for what another thread or process does in its own time; fails when it has not by then."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(0.01)
