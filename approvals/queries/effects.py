"""Effects as rows: in a run, and in the ledger of all runs with its search and sums."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet, Sum

from approvals.queries import pages, runs, words
from durable.clock import db_now
from durable.models import Effect, Run, Subject
from durable.states import EffectState

_COLUMNS = (
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
#: A run may have very many effects; its page shows the newest, the ledger has them all.
IN_RUN = 200


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


def of_run(run: Run) -> list[pages.Row]:
    """The effects of a run in the order in which they were recorded."""
    return list(Effect.objects.filter(run=run).order_by("-id").values(*_COLUMNS)[:IN_RUN])[::-1]


def filtered(state: str, q: str) -> QuerySet[Effect]:
    """The effects of a list: one definition for rows, counts and sums.

    The text is looked for in keys, receipts and, as a keyed hash, among orders and customers.
    """
    found = Effect.objects.all()
    if state:
        found = found.filter(state=state)
    if q:
        about = Subject.objects.filter(hash__in=runs.subject_hashes(q)).values("effect_id")
        found = found.filter(Q(key__icontains=q) | Q(receipt_id=q) | Q(pk__in=about))
    return found


def listing(state: str, q: str, *, after: int | None, before: int | None) -> dict[str, Any]:
    """One page of the ledger. See ledger.html."""
    found = filtered(state, q)
    page = pages.page(found.values(*_COLUMNS), after=after, before=before)
    rows = [row(one) for one in page.rows]
    sums = _sums(found)
    return {
        "effects": rows,
        "page": page.context(pages.count(found)),
        "sums": sums,
        "chain": None,
        "q": q,
        "version": pages.version(rows, sums),
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
    """What was moved, by currency, over the whole list. Undos move money back and are not in it."""
    applied, doubt = (
        Q(state=EffectState.APPLIED.value),
        Q(state__in=[EffectState.PENDING.value, EffectState.IN_DOUBT.value]),
    )
    totals = (
        found.filter(amount_minor__isnull=False, undo_of=None)
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
