"""The waits of one run: those that are open, which say why it stands, and the newest that are over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q

from approvals.queries import pages
from approvals.queries.runs import WAIT_COLUMNS
from durable.models import Run
from durable.states import WaitState

#: Open ones come first, so that none of them is cut off by old ones.
SHOWN = 60


def of(run: Run) -> list[pages.Row]:
    """The waits of a run, oldest first, in one query."""
    is_open = ExpressionWrapper(Q(state=WaitState.OPEN.value), BooleanField())
    found = run.waits.annotate(is_open=is_open).order_by("-is_open", "-id")
    rows = found.values(*WAIT_COLUMNS, "step", "closed_at", "is_open")[:SHOWN]
    return sorted((dict(row) for row in rows), key=lambda row: row["id"])


def holders(waits: Sequence[Mapping[str, Any]]) -> list[str]:
    """Who has opened them, where somebody has."""
    return [wait["detail"]["by"] for wait in waits if (wait["detail"] or {}).get("by")]


def named(waits: Sequence[pages.Row], who: Mapping[str, str]) -> list[pages.Row]:
    """The open ones, with the names of whoever has opened them."""
    found = []
    for wait in waits:
        if wait["is_open"]:
            by = (wait["detail"] or {}).get("by")
            found.append(wait | {"detail": {**wait["detail"], "by": who[by]}} if by else wait)
    return found
