"""Effects as rows: in a run, and in the ledger of all runs with its search and sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet, Sum

from approvals.queries import pages, runs, words
from durable.clock import db_now
from durable.models import Effect, LedgerEvent, Subject
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
    return {
        "id": found["key"],
        "key": found["key"],
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


def filtered(state: str, q: str) -> QuerySet[Effect]:
    """The effects of a list: one definition for rows, counts and sums.

    The text is the beginning of a key, a receipt, or, as a keyed hash, an order or customer; each has its own index,
    so they are looked up apart.
    """
    found = Effect.objects.all()
    if state:
        found = found.filter(state=state)
    if q:
        named = _named(q).order_by().values("pk")
        proven = Effect.objects.filter(bearing([q])).order_by().values("pk")
        about = Subject.objects.filter(hash__in=runs.subject_hashes(q)).order_by().values("effect_id")
        found = found.filter(pk__in=named.union(proven, about, all=True))
    return found


def _named(beginning: str) -> QuerySet[Effect]:
    """Effects by the beginning of their key, which begins with their run's ref and a colon: runs are fewer."""
    ref, colon, _ = beginning.partition(":")
    of_run = Q(run__ref=ref) if colon else Q(run__ref__startswith=ref)
    return Effect.objects.filter(of_run, key__startswith=beginning)


def bearing(receipts: Sequence[str]) -> Q:
    """Effects that one of these receipts proves. Those that act and those that undo have an index each."""
    return Q(receipt_id__in=receipts, undo_of=None) | Q(receipt_id__in=receipts, undo_of__isnull=False)


@dataclass(frozen=True, slots=True)
class Shown:
    """One page's rows and their version: all that a poll of an unchanged page costs."""

    found: QuerySet[Effect]
    page: pages.Page
    version: str


def shown(state: str, q: str, *, after: int | None, before: int | None) -> Shown:
    """Read one page of the ledger. Rows on other pages change sums and counts, and never without an event."""
    found = filtered(state, q)
    page = pages.page(found.values(*COLUMNS), after=after, before=before)
    newest = LedgerEvent.objects.order_by("-id").values_list("id", flat=True).first()
    return Shown(found, page, pages.version(page.rows, newest))


def listing(shown: Shown, q: str) -> dict[str, Any]:
    """What ledger.html shows of a page."""
    total = pages.count(shown.found)
    return {
        "effects": [row(one) for one in shown.page.rows],
        "page": shown.page.context(total),
        "sums": _sums(shown.found),
        "summed": f"of the newest {pages.COUNTED:,}" if total > pages.COUNTED else "",
        "chain": None,
        "q": q,
        "version": shown.version,
        "now": db_now(),
    }


def chips(state: str, q: str) -> list[dict[str, Any]]:
    """The filters with their counts, each from the same rows as the list it leads to; one query for all."""
    return [
        {
            "label": chip.capitalize() or "All",
            "query": urlencode({name: value for name, value in (("state", chip), ("q", q)) if value}),
            "count": pages.words(count),
            "current": chip == state,
        }
        for chip, count in zip(_CHIPS, pages.counts([filtered(chip, q) for chip in _CHIPS]), strict=True)
    ]


def _sums(found: QuerySet[Effect]) -> list[dict[str, Any]]:
    """What was moved, by currency, in the newest of the list: a sum over all there ever was would grow without bound.

    Undos move money back and are not in it.
    """
    newest = found.order_by("-pk").values("pk")[: pages.COUNTED]
    applied, doubt = (
        Q(state=EffectState.APPLIED.value),
        Q(state__in=[EffectState.PENDING.value, EffectState.IN_DOUBT.value]),
    )
    totals = (
        Effect.objects.filter(pk__in=newest, amount_minor__isnull=False, undo_of=None)
        .filter(applied | doubt)
        .order_by("currency")
        .values("currency")
        .annotate(
            applied=Sum("amount_minor", filter=applied),
            doubt=Sum("amount_minor", filter=doubt),
            count=Count("id", filter=applied),
        )
    )
    return [
        {
            "currency": t["currency"],
            "applied": int(t["applied"] or 0),
            "doubt": int(t["doubt"] or 0),
            "count": t["count"],
        }
        for t in totals
    ]
