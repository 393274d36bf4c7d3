"""Keyset pages of 50 and counts that stay exact to 10,000."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

PAGE = 50
COUNTED = 10_000

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of one page, newest first, with cursors to its neighbours: arriving rows shift nothing."""

    rows: list[Row]
    newer: str
    older: str

    def context(self, total: int) -> dict[str, Any]:
        """What `_pages.html` shows."""
        return {"newer": self.newer, "older": self.older, "shown": len(self.rows), "total": words(total)}


def cursor(text: str | None) -> int | None:
    """A cursor from an address; None for nothing and for nonsense, which shows the first page."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else None


def page(found: QuerySet[Any, Row], *, after: int | None, before: int | None) -> Page:
    """One page of rows with an `id`, by descending id. `after` continues towards older rows, `before` towards newer."""
    if before is not None:
        ascending = list(found.filter(pk__gt=before).order_by("pk")[: PAGE + 1])
        rows, more_newer, more_older = ascending[:PAGE][::-1], len(ascending) > PAGE, True
    else:
        older = found if after is None else found.filter(pk__lt=after)
        rows = list(older.order_by("-pk")[: PAGE + 1])
        more_newer, more_older = after is not None, len(rows) > PAGE
        rows = rows[:PAGE]
    if not rows:
        return Page([], "", "")
    return Page(rows, str(rows[0]["id"]) if more_newer else "", str(rows[-1]["id"]) if more_older else "")


def count(found: QuerySet[Any, Any]) -> int:
    """How many there are; COUNTED + 1 stands for more, so that a large table costs no more than a small one."""
    return found.order_by()[: COUNTED + 1].count()


def counts(found: Sequence[QuerySet[Any, Any]]) -> list[int]:
    """`count` for several lists in one query."""
    results = [0] * len(found)
    parts: list[str] = []
    values: list[Any] = []
    places: list[int] = []
    for place, one in enumerate(found):
        try:
            sql, params = one.order_by().values("pk")[: COUNTED + 1].query.sql_with_params()
        except EmptyResultSet:
            continue
        parts.append(f"(SELECT count(*) FROM ({sql}) AS list_{place})")
        values += params
        places.append(place)
    if parts:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(parts)}", values)
            for place, number in zip(places, cursor.fetchone(), strict=True):
                results[place] = number
    return results


def words(number: int) -> str:
    """A count for the eye: 1,284, or 10,000+."""
    return f"{COUNTED:,}+" if number > COUNTED else f"{number:,}"


def version(*shown: object) -> str:
    """A short, opaque name of what a fragment shows: equal names, equal fragments."""
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]
