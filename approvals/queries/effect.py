"""One effect: its life, its payload, its key, and, in doubt, what was sent beside what the vendor shows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from approvals import differences, opened
from approvals.models import Gate
from approvals.queries import events, evidence, pages, words
from approvals.templatetags.interlock import span
from durable import ledger
from durable.clock import db_now
from durable.digest import canonical
from durable.errors import InterlockError
from durable.models import Chain, Effect, Wait
from durable.states import OPEN, REFUSED, EffectState, WaitKind, WaitState

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


def detail(effect: Effect, seen: str = "") -> dict[str, Any]:
    """All that effect_detail.html shows but its forms: `effect` from `access.get_effect`, `seen` from `version`."""
    found = events.listing(effect.run, effect.key)
    doubt = (
        Wait.objects.filter(effect=effect, kind=WaitKind.ATTENTION.value, state=WaitState.OPEN.value)
        .order_by("-id")
        .first()
    )
    return {
        "effect": _effect(effect, doubt, seen or version(effect)),
        "doubt": doubt,
        "life": _life(effect, found["log"]),
        "key_life": _key_life(effect),
        "evidence": None if doubt is None else evidence.side_by_side(effect, doubt),
        "events": found["log"],
        "log_total": found["log_total"],
        "now": db_now(),
    }


def _effect(effect: Effect, doubt: Wait | None, seen: str) -> dict[str, Any]:
    title = words.title(effect.tool, effect.amount_minor, effect.currency, undo=effect.undo_of_id is not None)
    try:
        payload = differences.read_public(effect.payload, effect.run)
        shown, about = canonical(payload), words.about(payload["args"])
    except InterlockError:
        shown, about = canonical("The personal data of this run has been erased."), ""
    sentence = words.sentence(str(doubt.detail.get("sentence", ""))) if doubt is not None else ""
    asked = f"{effect.run.agent} asked for it at step {effect.step}{about}."
    return {
        "id": effect.key,
        "key": effect.key,
        "run_id": effect.run.ref,
        "tool": effect.tool,
        "class_name": effect.effect_class,
        "vendor": words.vendor(effect.vendor),
        "payload_title": _payload_title(effect),
        "agent": effect.run.agent,
        "state": effect.state,
        "title": title,
        "question": f"Did this happen: {title}?" if effect.state == EffectState.IN_DOUBT else "",
        "summary": f"{asked} {sentence}".strip(),
        "version": seen,
        "settled": EffectState(effect.state) not in OPEN,
        "canonical": shown,
        "digest": effect.digest,
        "words": said(effect),
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


def said(effect: Effect) -> str:
    """What the agent said in the step that asks; unproven, and gone where it was erased."""
    try:
        return "" if effect.said is None else str(opened.read(effect.said, effect.run))
    except InterlockError:
        return ""


def _payload_title(effect: Effect) -> str:
    if effect.sends:
        return "Sent exactly as shown"
    if effect.receipt_id:
        return "Asked for as shown; the vendor had done it already"
    refused = EffectState(effect.state) in REFUSED
    return f"{effect.state.capitalize()}, and not sent" if refused else "Will be sent exactly as shown"


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
        lives = ledger.facts_of(effect).idempotent_for
    except InterlockError:
        return None
    if lives is None:
        return None
    half, end = effect.first_sent_at + lives / 2, effect.first_sent_at + lives
    left = half - db_now()
    if effect.error_saved:
        text = "an error is saved under it: the same request gets the same error for as long as the key lives"
    elif left > timedelta(0):
        text = f"{span(left)} left in which the same request can be repeated without acting twice"
    else:
        text = "too old: the same request is not repeated under it any more"
    return {
        "words": text,
        "spoilt": effect.error_saved,
        "first_sent": effect.first_sent_at,
        "half_at": half,
        "end_at": end,
        "vendor": words.vendor(effect.vendor),
    }
