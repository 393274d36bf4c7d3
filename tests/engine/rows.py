"""Every row of a run, to hold it against itself later."""

from __future__ import annotations

from typing import Any

from django.db.models import Model

from approvals.models import Decision, Gate
from durable.models import (
    Attempt,
    Budget,
    Chain,
    Checkpoint,
    Effect,
    Frozen,
    LedgerEvent,
    Purse,
    Run,
    Sealed,
    Subject,
    Wait,
)

#: Where the rows of a run are.
TABLES: dict[type[Model], str] = {
    Run: "pk",
    Budget: "runs",
    Purse: "budget__runs",
    Attempt: "run",
    Checkpoint: "run",
    Frozen: "run",
    Wait: "run",
    Effect: "run",
    Sealed: "run",
    Subject: "run",
    Gate: "effect__run",
    Decision: "gate__effect__run",
    LedgerEvent: "run_ref",
    Chain: "run_ref",
}


Picture = dict[str, list[dict[str, Any]]]


def picture(run: Run) -> Picture:
    """Every row of a run."""
    return {
        table.__name__: list(
            table._default_manager.filter(**{path: run.ref if path == "run_ref" else run.pk})
            .order_by("pk")
            .values()
        )
        for table, path in TABLES.items()
    }
