"""One effect: its life, its payload, its key, and, in doubt, what was sent beside what the vendor shows."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from approvals import differences
from approvals.models import Gate
from approvals.queries import events, pages, words
from durable import tools
from durable.clock import db_now
from durable.digest import canonical
from durable.errors import InterlockError, Invalid
from durable.models import Chain, Effect, Wait
from durable.money import to_minor
from durable.states import OPEN, EffectState, WaitKind, WaitState

_PASSED = {
    "gated": "gated",
    "approved": "approved",
    "rejected": "rejected",
    "expired": "expired",
    "withdrawn": "withdrawn",
    "sent": "pending",
    "in doubt": "in doubt",
    "applied": "applied",
    "adopted": "applied",
    "failed": "failed",
}
_AHEAD = {
    EffectState.GATED: ("approved", "pending", "applied"),
    EffectState.APPROVED: ("pending", "applied"),
    EffectState.PENDING: ("applied",),
    EffectState.IN_DOUBT: ("applied",),
}


def version(effect: Effect) -> str:
    """Changes whenever the page would."""
    chain = Chain.objects.filter(run_ref=effect.run.ref).values_list("no", flat=True).first()
    return pages.version(effect.state, effect.round, effect.sends, chain)


def detail(effect: Effect) -> dict[str, Any]:
    """Everything that effect_detail.html shows but its forms. `effect` comes from `access.get_effect`."""
    found = events.listing(effect.run_id, effect.run.ref, effect.key)
    doubt = (
        Wait.objects.filter(effect=effect, kind=WaitKind.ATTENTION.value, state=WaitState.OPEN.value)
        .order_by("-id")
        .first()
    )
    return {
        "effect": _effect(effect, doubt),
        "doubt": doubt,
        "life": _life(effect, found["log"]),
        "key_life": _key_life(effect),
        "evidence": None if doubt is None else evidence(effect, doubt),
        "events": found["log"],
        "log_total": found["log_total"],
        "now": db_now(),
    }


def _effect(effect: Effect, doubt: Wait | None) -> dict[str, Any]:
    title = words.title(effect.tool, effect.amount_minor, effect.currency, undo=effect.undo_of_id is not None)
    try:
        payload = differences.read_public(effect.payload)
        shown, about = canonical(payload), words.subject(payload["args"])
    except InterlockError:
        shown, about = canonical("The personal data of this run has been erased."), ""
    summary = str(doubt.detail.get("sentence", "")) if doubt is not None else ""
    return {
        "id": effect.key,
        "key": effect.key,
        "run_id": effect.run.ref,
        "tool": effect.tool,
        "class_name": effect.effect_class,
        "vendor": effect.vendor,
        "agent": effect.run.agent,
        "state": effect.state,
        "title": title,
        "question": f"Did this happen: {title}?" if effect.state == EffectState.IN_DOUBT else "",
        "summary": summary or f"{effect.run.agent}, step {effect.step}{f', {about}' if about else ''}.",
        "version": version(effect),
        "settled": EffectState(effect.state) not in OPEN,
        "canonical": shown,
        "digest": effect.digest,
        "words": "",
        "minor": effect.amount_minor,
        "currency": effect.currency,
        "receipt": effect.receipt_id,
        "attempt": effect.sends,
        "undo_of_id": effect.undo_of.key if effect.undo_of else None,
        "undone_by_id": Effect.objects.filter(undo_of=effect)
        .order_by("-id")
        .values_list("key", flat=True)
        .first(),
        "gate_id": Gate.objects.filter(effect=effect).order_by("-round").values_list("pk", flat=True).first(),
    }


def _life(effect: Effect, log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The states that the effect has passed, the one it is in, and those that may follow."""
    passed: list[dict[str, Any]] = []
    for entry in reversed(log):
        word = _PASSED.get(entry["kind"])
        if word and (not passed or passed[-1]["word"] != word):
            passed.append({"word": word, "at": entry["at"], "current": False, "ahead": False})
    if not passed or passed[-1]["word"] != effect.state:
        passed.append({"word": effect.state, "at": None, "current": False, "ahead": False})
    passed[-1]["current"] = True
    ahead = [
        {"word": w, "at": None, "current": False, "ahead": True}
        for w in _AHEAD.get(EffectState(effect.state), ())
    ]
    return passed + ahead


def _key_life(effect: Effect) -> dict[str, Any] | None:
    """How long the same key may still be repeated. A key counts as honoured for half of its declared life."""
    if effect.first_sent_at is None or EffectState(effect.state) not in OPEN:
        return None
    try:
        lives = _honoured(effect)
    except InterlockError:
        return None
    if lives is None:
        return None
    half, end = effect.first_sent_at + lives / 2, effect.first_sent_at + lives
    left = half - db_now()
    said = "may be repeated under its key" if left > timedelta(0) else "is no longer repeated under its key"
    return {
        "words": said,
        "first_sent": effect.first_sent_at,
        "half_at": half,
        "end_at": end,
        "vendor": effect.vendor,
    }


def _honoured(effect: Effect) -> timedelta | None:
    tool = tools.get(effect.tool)
    if effect.undo_of_id is None:
        return tool.facts.idempotent_for
    return None if tool.undo_act is None else tool.undo_act.idempotent_for


def evidence(effect: Effect, doubt: Wait) -> dict[str, Any] | None:
    """What was sent, line by line against each candidate that the vendor's look-up has found; None without any."""
    found: list[dict[str, Any]] = doubt.detail.get("candidates") or []
    if not found:
        return None
    rows = [
        {
            "name": "Key",
            "sent": effect.key,
            "cells": [_cell(one.get("key"), one.get("key") == effect.key) for one in found],
        },
        {
            "name": "Target",
            "sent": "see the payload",
            "cells": [_cell(one.get("target"), None) for one in found],
        },
    ]
    if effect.amount_minor is not None:
        asked = words.money(effect.amount_minor, effect.currency)
        rows.insert(0, {"name": "Amount", "sent": asked, "cells": [_moved(effect, one) for one in found]})
    return {
        "columns": [str(one.get("id", "candidate")) for one in found],
        "rows": rows,
        "words": str(doubt.detail.get("sentence", "")),
        "at": doubt.opened_at,
    }


def _cell(text: object, fits: bool | None) -> dict[str, Any]:
    return {"text": "not shown", "fits": None} if text is None else {"text": str(text), "fits": fits}


def _moved(effect: Effect, candidate: dict[str, Any]) -> dict[str, Any]:
    amount, currency = candidate.get("amount"), candidate.get("currency")
    if amount is None or not currency:
        return _cell(amount, None)
    try:
        fits = (to_minor(Decimal(str(amount)), currency), currency) == (effect.amount_minor, effect.currency)
    except (Invalid, InvalidOperation):
        fits = False
    return _cell(f"{amount} {currency}", fits)
