"""Effects as rows: in a run, and in the ledger of all runs with its search and sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Exists

from approvals.ledger_query import STATE, STATES, UNDONE, LedgerQuery
from approvals.queries import groups, narrowing, pages, subjects, totals, words
from approvals.queries.searching import Search, bearing
from durable.models import Effect
from durable.states import EffectState

__all__ = ["COLUMNS", "bearing", "listing", "row", "shown"]

_OF_EFFECT = (
    "id",
    "key",
    "tool",
    "effect_class",
    "amount_minor",
    "currency",
    "state",
    "receipt_id",
    "failure",
    "recorded_at",
    "settled_at",
    "undo_of_id",
    "step",
    "visit",
    "sends",
    "applied_no",
    "vendor",
    "run__ref",
)
COLUMNS = (*_OF_EFFECT, "run__input")
_LIT = frozenset({EffectState.GATED, EffectState.IN_DOUBT})


def row(found: pages.Row, about: str | None = None) -> dict[str, Any]:
    """One row of _effect_rows.html. `about` says whom it is about; else the run's input does."""
    run, _, place = found["key"].rpartition(":")
    whom = words.subject(found["run__input"]) if about is None else about
    moves = found["amount_minor"] is not None
    return {
        "id": found["key"],
        "key": found["key"],
        "run": run,
        "place": place,
        "run_id": found["run__ref"],
        "tool": found["tool"],
        "class_name": found["effect_class"],
        "minor": found["amount_minor"],
        "currency": found["currency"],
        # What moves no money is told apart by whom it concerns.
        "target": "" if moves else whom,
        "subject": whom if moves else "",
        "state": found["state"],
        "undone": bool(found.get("undone")),
        "proof": found["receipt_id"] or found["failure"],
        "proof_is_receipt": bool(found["receipt_id"]),
        "at": found["settled_at"] or found["recorded_at"],
        "lit": found["state"] in _LIT,
    }


@dataclass(frozen=True, slots=True)
class Shown:
    """One page of what a search finds; `newest` is the newest of all that, where the summary does not know it."""

    search: Search
    page: pages.Page
    newest: Sequence[totals.Found] | None


def shown(search: Search, *, after: int | None, before: int | None) -> Shown:
    """Read one page."""
    found, newest = search.found, None
    if search.summed:
        found = found.filter(narrowing.near(search, after=after, before=before))
    else:
        newest = totals.newest_of(found)
        if after is before is None:
            first = [one.pk for one in newest[: pages.PAGE + 1]]
            found = Effect.objects.filter(pages.Among("pk", first))
    rows = found.values(*_OF_EFFECT, undone=Exists(groups.applied_undos()))
    return Shown(search, pages.page(rows, after=after, before=before), newest)


def listing(shown: Shown) -> dict[str, Any]:
    """What ledger.html shows of a page and of what it is a page of."""
    found = totals.of(shown.search, shown.newest)
    about = subjects.of_effects(row["id"] for row in shown.page.rows)
    return {
        "effects": [row(one, about.get(one["id"], "")) for one in shown.page.rows],
        "page": shown.page.context(found.number) | {"total": _words(found.number, shown.search)},
        "sums": found.sums,
        "summed": "" if found.whole else f"of the newest {pages.COUNTED:,}",
        "filters": chips(shown.search.query, found),
    }


def _words(number: int, search: Search) -> str:
    return f"{number:,}" if search.summed else pages.words(number)


def address(text: str) -> str:
    """A query as the ledger's address has it, without the `?`."""
    return urlencode({"q": text} if text else {})


def chips(query: LedgerQuery, found: totals.Totals) -> list[dict[str, Any]]:
    """The states as filters with their counts, each of the list that it leads to."""
    by_state, every = found.by_state or {}, found.every
    counts = [("", every), *((word, by_state.get(word)) for word in (*STATES, UNDONE))]
    return [
        {
            "label": word.replace("-", " ").capitalize() or "All",
            "query": address(query.having(state=word)),
            # Where not all are counted, only that much is known of them.
            "count": f"{count:,}" if count is not None else "" if word else pages.words(pages.COUNTED + 1),
            "current": query[STATE] == word,
        }
        for word, count in counts
    ]
