"""One page of the runs list, and what has changed on it since it was shown.

A page remembers which runs it shows. What becomes of those is told in their own rows, in place; what has come since is
counted and announced, and shown when somebody asks for it. So nothing moves under a pointer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from approvals.queries import finding, pages, runs
from approvals.run_query import RunQuery
from durable.models import Run


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page shows: its runs with a digest of each row, between which ids it looked, its chips' digest, what is
    announced."""

    rows: Mapping[int, str]
    low: int
    high: int | None
    chips: str
    news: str = ""

    @property
    def version(self) -> str:
        """Equal where two pages look alike."""
        return pages.version(sorted(self.rows.items()), self.low, self.high, self.chips, self.news)

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Shown | None:
        """From the address of a poll; None where it is not one that a page has made."""
        rows: dict[int, str] = {}
        for item in given.get("rows", "").split(",") if given.get("rows") else ():
            number, _, digest = item.partition(".")
            pk = pages.cursor(number)
            if pk is None or len(rows) == pages.PAGE:
                return None
            rows[pk] = digest
        low, high = pages.cursor(given.get("low")), pages.cursor(given.get("high"))
        return None if low is None else cls(rows, low, high, given.get("chips", ""))

    def address(self) -> dict[str, str]:
        """What a poll sends; `read` reads it, but for the news, which only `version` remembers."""
        rows = ",".join(f"{pk}.{digest}" for pk, digest in self.rows.items())
        high = "" if self.high is None else str(self.high)
        return {"seen": self.version, "rows": rows, "low": str(self.low), "high": high, "chips": self.chips}

    def newer(self, found: Sequence[QuerySet[Run]]) -> Sequence[QuerySet[Run]]:
        """What belongs on the page and is not there yet."""
        within = [part.filter(pk__gte=self.low).exclude(pk__in=list(self.rows)) for part in found]
        return within if self.high is None else [part.filter(pk__lte=self.high) for part in within]


def page(query: RunQuery, now: datetime, *, after: int | None, before: int | None) -> dict[str, Any]:
    """One page of runs, whole. See run_list.html."""
    base = finding.base(query)
    found = finding.having_any_of(base.runs, query.statuses)
    page = pages.page([part.values(*runs.COLUMNS) for part in found], after=after, before=before)
    counts = runs.counts(query, base)
    rows = [_row(row, now) for row in runs.explained(page.rows)]
    shown = Shown(
        {row["pk"]: row["digest"] for row in rows},
        page.rows[-1]["id"] if page.older else 0,
        page.rows[0]["id"] if page.newer else None,
        _digest(counts, len(rows)),
    )
    return {
        "query": base.query,
        "runs": rows,
        "page": page.context(counts["total"]),
        "counts": counts,
        "shown": shown,
        "news": "",
        **_beyond(counts["total"], len(rows)),
    }


def changed(query: RunQuery, shown: Shown, now: datetime) -> dict[str, Any]:
    """What a page that shows this must be told: rows that look different now, chips, and how many are new."""
    base = finding.base(query)
    found = finding.having_any_of(base.runs, query.statuses)
    rows = runs.explained(list(Run.objects.filter(pk__in=list(shown.rows)).values(*runs.COLUMNS)))
    first, *others = [
        part.filter(pk__in=list(shown.rows)).order_by().values_list("pk", flat=True) for part in found
    ]
    still = set(first.union(*others) if others else first)
    told = [_row(row, now, left=row["pk"] not in still) for row in rows]
    counts = runs.counts(query, base)
    digest = _digest(counts, len(still))
    news = pages.count(shown.newer(found))
    new = pages.words(news) if news else ""
    return {
        "runs": [row for row in told if shown.rows[row["pk"]] != row["digest"]],
        "counts": counts if digest != shown.chips else None,
        "page": {"total": pages.words(counts["total"]), "shown": len(still)},
        **_beyond(counts["total"], len(still)),
        "news": new,
        "one": news == 1,
        "listed": bool(shown.rows),
        "shown": Shown({row["pk"]: row["digest"] for row in told}, shown.low, shown.high, digest, new),
    }


def _row(row: dict[str, Any], now: datetime, *, left: bool = False) -> dict[str, Any]:
    """A row for the list; `left` is one that the query does not find any more."""
    shown = {**row, "left": left, "ago": runs.since(row["moved_at"], now)}
    return {**shown, "digest": pages.version(shown)[:6]}


def _beyond(total: int, shown: int) -> dict[str, bool]:
    """Whether more runs match than the page shows, and whether they are not too many to act on all."""
    return {"more": total > shown, "total_known": total <= pages.COUNTED}


def _digest(counts: dict[str, Any], shown: int) -> str:
    """A name of all numbers on the page: of the chips, of the whole list, and how many of it the page shows."""
    chips = [(chip["count"], chip["none"]) for chip in (*counts["views"], *counts["states"])]
    return pages.version(chips, pages.words(counts["total"]), shown)[:8]
