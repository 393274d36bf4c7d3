"""Effects as rows: in a run, and in the ledger of all runs with its search and sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet

from approvals.queries import pages, runs, words
from durable.clock import db_now
from durable.models import Effect, LedgerEvent, Run, Subject
from durable.states import EffectState

COLUMNS = (
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
    "run__input",
)
_LIT = frozenset({EffectState.GATED, EffectState.IN_DOUBT})
_CHIPS = ("", *(state.value for state in EffectState))


def row(found: pages.Row) -> dict[str, Any]:
    """One row of _effect_rows.html."""
    run, _, place = found["key"].rpartition(":")
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
        "target": "",
        "subject": words.subject(found["run__input"]),
        "state": found["state"],
        "proof": found["receipt_id"] or found["failure"],
        "proof_is_receipt": bool(found["receipt_id"]),
        "at": found["settled_at"] or found["recorded_at"],
        "lit": found["state"] in _LIT,
    }


@dataclass(frozen=True, slots=True)
class Search:
    """The effects that a text finds, in whatever state. `few`: they are few enough to be read, one by one.

    `wide` says why nothing is looked for: the text begins too many keys.
    """

    effects: QuerySet[Effect]
    few: bool = False
    wide: str = ""

    def having(self, state: str) -> QuerySet[Effect]:
        """Those in this state; all of them without one. One definition for rows, counts and sums."""
        return self.effects.filter(state=state) if state else self.effects


def search(q: str) -> Search:
    """Find effects by the beginning of a key, a receipt, or, as a keyed hash, an order or customer.

    Each has its own index, so they are looked up apart, and first: joined in, the server would rather walk through all
    effects from the newest back.
    """
    if not q:
        return Search(Effect.objects.all())
    about = Subject.objects.filter(hash__in=runs.subject_hashes(q)).order_by()
    named = _named(q)
    if named is None:
        wide = f"More than {pages.COUNTED:,} effects have a key that begins with {q}: type more of it."
        return Search(Effect.objects.none(), wide=wide)
    proven, ids = pages.few((Effect.objects.filter(bearing([q])), "pk"), (about, "effect_id"))
    found = [*named, *(proven or [])]
    if ids is None:
        return Search(
            Effect.objects.filter(Q(pages.Among("pk", found)) | Q(pk__in=about.values("effect_id")))
        )
    return Search(Effect.objects.filter(pages.Among("pk", [*found, *ids])), few=True)


def _named(beginning: str) -> list[int] | None:
    """Effects by the beginning of their key, which begins with their run's ref and a colon; None for too many."""
    ref, colon, _ = beginning.partition(":")
    (of,) = pages.few(
        (Run.objects.filter(ref=ref) if colon else Run.objects.filter(ref__startswith=ref), "pk")
    )
    if not of:
        return of
    (found,) = pages.few((Effect.objects.filter(pages.Among("run_id", of), key__startswith=beginning), "pk"))
    return found


def bearing(receipts: Sequence[str]) -> Q:
    """Effects that one of these receipts proves. Those that act and those that undo have an index each."""
    return Q(receipt_id__in=receipts, undo_of=None) | Q(receipt_id__in=receipts, undo_of__isnull=False)


@dataclass(frozen=True, slots=True)
class Shown:
    """One page's rows and their version: all that a poll of an unchanged page costs."""

    search: Search
    state: str
    page: pages.Page
    version: str


def shown(state: str, q: str, *, after: int | None, before: int | None) -> Shown:
    """Read one page of the ledger. Rows on other pages change sums and counts, and never without an event."""
    found = search(q)
    page = pages.page(found.having(state).values(*COLUMNS), after=after, before=before)
    newest = LedgerEvent.objects.order_by("-id").values_list("id", flat=True).first()
    return Shown(found, state, page, pages.version(page.rows, newest))


def listing(shown: Shown, q: str) -> dict[str, Any]:
    """What ledger.html shows of a page."""
    found = shown.search.having(shown.state)
    total = pages.count(found)
    return {
        "effects": [row(one) for one in shown.page.rows],
        "page": shown.page.context(total),
        "sums": _sums(found),
        "summed": f"of the newest {pages.COUNTED:,}" if total > pages.COUNTED else "",
        "wide": shown.search.wide,
        "chain": None,
        "q": q,
        "version": shown.version,
        "now": db_now(),
    }


def chips(shown: Shown, q: str) -> list[dict[str, Any]]:
    """The filters with their counts, each from the same rows as the list it leads to; one query for all."""
    found = shown.search
    if found.few:
        counted = pages.by_state(found.effects)
        numbers = [counted.get(chip, 0) if chip else sum(counted.values()) for chip in _CHIPS]
    else:
        numbers = pages.counts([found.having(chip) for chip in _CHIPS])
    return [
        {
            "label": chip.capitalize() or "All",
            "query": urlencode({name: value for name, value in (("state", chip), ("q", q)) if value}),
            "count": pages.words(count),
            "current": chip == shown.state,
        }
        for chip, count in zip(_CHIPS, numbers, strict=True)
    ]


_SUMS = """
SELECT currency, sum(amount_minor) FILTER (WHERE state = 'applied'),
       sum(amount_minor) FILTER (WHERE state <> 'applied'), count(*) FILTER (WHERE state = 'applied')
FROM ({rows}) AS newest (currency, amount_minor, state, undo_of_id)
WHERE amount_minor IS NOT NULL AND undo_of_id IS NULL AND state IN ('applied', 'pending', 'in doubt')
GROUP BY currency ORDER BY currency
"""


def _sums(found: QuerySet[Effect]) -> list[dict[str, Any]]:
    """What was moved, by currency, in the newest of the list: a sum over all there ever was would grow without bound.

    Undos move money back and are not in it.
    """
    newest = found.order_by("-pk").values_list("currency", "amount_minor", "state", "undo_of_id")
    totals = pages.over(newest[: pages.COUNTED], _SUMS)
    return [
        {"currency": currency, "applied": int(applied or 0), "doubt": int(doubt or 0), "count": count}
        for currency, applied, doubt, count in totals
    ]
