"""What each tool has done lately, and how it was last proven, from the ledger.

One statement looks at the newest effects of each tool, through the index by tool: so the table costs the same after
years as after a month, and with a million effects a day as with ten. The page says how far it looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Aggregate, Count, DurationField, F

from approvals.queries import trends
from durable.models import Effect
from durable.sql import answers
from durable.states import REFUSED

PERIOD = timedelta(days=30)
#: So many effects of each tool are looked at, and so many decisions of all, the newest of the period.
NEWEST = 2_000
_REFUSED = ", ".join(f"'{state}'" for state in sorted(REFUSED))

# Where the newest effects of a tool begin, from the index alone.
_SINCE = """
SELECT tool.name, coalesce((
    SELECT e.id FROM durable_effect e WHERE e.tool = tool.name ORDER BY e.id DESC OFFSET %(most)s - 1 LIMIT 1
), 0)
FROM unnest(%(tools)s::text[]) AS tool(name)
"""
# With each tool's beginning written out: so the server knows how few they are, and walks through the index by tool.
_SQL = f"""
SELECT tool, count(*) FILTER (WHERE lately AND state = 'applied' AND undo_of_id IS NULL),
       count(*) FILTER (WHERE lately AND state IN ({_REFUSED})),
       count(*) FILTER (WHERE lately AND state = 'in doubt'),
       count(*) >= %(most)s AND bool_and(lately),
       max(id) FILTER (WHERE state = 'applied' AND undo_of_id IS NULL AND receipt_id <> '' AND NOT adopted),
       max(id) FILTER (WHERE state = 'applied' AND adopted),
       max(id) FILTER (WHERE state = 'applied' AND undo_of_id IS NOT NULL)
FROM (
    SELECT id, tool, state, undo_of_id, receipt_id, adopted, recorded_at >= %(start)s AS lately
    FROM durable_effect WHERE {{newest}}
) AS newest
GROUP BY tool
"""


class Median(Aggregate):
    """PostgreSQL's median, between the two middle ones where their number is even."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"


@dataclass(frozen=True, slots=True)
class Proof:
    """One thing that a tool has been seen to do, and when; `key` leads to the effect that shows it."""

    words: str
    at: datetime
    key: str


@dataclass(slots=True)
class Figures:
    """What a tool did in the period; `more` says that there is more of it than was looked at."""

    acts: int = 0
    refused: int = 0
    doubt: int = 0
    more: bool = False
    median: timedelta | None = None
    decided: int = 0
    proofs: tuple[Proof, ...] = ()


_PROVES = ("applied", "found by look-up", "undone")


def figures(names: Iterable[str], now: datetime) -> dict[str, Figures]:
    """Return the figures of each of these tools; four or five queries for all of them."""
    begins = answers(_SINCE, {"tools": list(names), "most": NEWEST})
    rows = _newest(begins, now) if begins else []
    shown = _effects(number for row in rows for number in row[5:] if number is not None)
    found = {
        name: Figures(acts, refused, doubt, bool(more), proofs=_proofs(newest, shown))
        for name, acts, refused, doubt, more, *newest in rows
    }
    for name, median, number in _decided(now):
        if name in found:
            found[name].median, found[name].decided = median, number
    return found


def _newest(begins: list[tuple[Any, ...]], now: datetime) -> list[tuple[Any, ...]]:
    values: dict[str, Any] = {"start": now - PERIOD, "most": NEWEST}
    ranges = []
    for place, (tool, first) in enumerate(begins):
        values |= {f"tool_{place}": tool, f"first_{place}": first}
        ranges.append(f"tool = %(tool_{place})s AND id >= %(first_{place})s")
    return answers(_SQL.format(newest=" OR ".join(ranges)), values)


def _decided(now: datetime) -> Iterable[tuple[str, timedelta, int]]:
    took = Median(F("at") - F("gate__opened_at"), output_field=DurationField())
    answered = (
        trends.decided(now - PERIOD, NEWEST).order_by("gate__effect__tool").values_list("gate__effect__tool")
    )
    return answered.annotate(median=took, number=Count("id"))


def _effects(numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
    columns = ("id", "key", "settled_at", "recorded_at")
    return {row["id"]: dict(row) for row in Effect.objects.filter(pk__in=set(numbers)).values(*columns)}


def _proofs(newest: list[int | None], shown: dict[int, dict[str, Any]]) -> tuple[Proof, ...]:
    """What was seen, the latest first."""
    found = [
        Proof(words, shown[number]["settled_at"] or shown[number]["recorded_at"], shown[number]["key"])
        for words, number in zip(_PROVES, newest, strict=True)
        if number is not None and number in shown
    ]
    return tuple(sorted(found, key=lambda proof: proof.at, reverse=True))
