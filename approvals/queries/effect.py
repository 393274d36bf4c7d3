"""One effect: its life, its payload, its key, and, in doubt, what was sent beside what the vendor shows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse

from approvals import differences, memory, opened
from approvals.queries import actors, erasures, events, evidence, life, pages, words
from approvals.queries import doubts as desk
from approvals.templatetags.interlock import span
from durable import doubts, ledger
from durable.clock import db_now
from durable.digest import canonical
from durable.errors import InterlockError
from durable.models import Effect, Wait
from durable.states import OPEN, REFUSED, EffectState


def version(effect: Effect) -> str:
    """Changes whenever the page would: a settled one may be undone, or get an alarm. From `access.get_effect`."""
    chain = getattr(effect, "chain_no", None)
    asked = [(one.pk, one.detail) for one in questions(effect)]
    return pages.version(effect.state, effect.round, effect.sends, chain, asked)


def _question(effect: Effect) -> Wait | None:
    """What people are asked about it first: its version and its page both show it."""
    return next(iter(questions(effect)), None)


def questions(effect: Effect) -> list[Wait]:
    """All that people are asked about it. Looked up once for one effect object."""
    return memory.once(effect, "questions", lambda: doubts.questions(effect))


def detail(effect: Effect, seen: str = "") -> dict[str, Any]:
    """All that effect_detail.html shows but its forms: `effect` from `access.get_effect`, `seen` from `version`."""
    found = events.listing(effect.run, effect.key)
    doubt = _question(effect)
    applied = effect.state == EffectState.APPLIED
    undo = Effect.objects.filter(undo_of=effect).order_by("-id").first() if applied else None
    now = db_now()
    return {
        "effect": _effect(effect, doubt, seen or version(effect), undo),
        "erased": erasures.note(effect.run),
        "doubt": doubt,
        "life": life.drawing(
            effect, found["log"], undone=undo is not None and undo.state == EffectState.APPLIED
        ),
        "look": None if effect.state != EffectState.IN_DOUBT or doubt is None else _look(effect, doubt, now),
        "key_life": _key_life(effect, now),
        "evidence": None if doubt is None else evidence.side_by_side(effect, doubt),
        "events": found["log"],
        "log_total": found["log_total"],
        "now": now,
    }


def standing(effect: Effect) -> dict[str, Any]:
    """How an effect stands that somebody may be writing a verdict about, for the part of the page that says so."""
    asked = questions(effect)
    seen = doubts.standing(effect, asked)
    return {
        "standing": {"key": effect.key, "seen": seen, "changed": _changed(effect, _question(effect))},
        "now": db_now(),
    }


def _changed(effect: Effect, asked: Wait | None) -> str:
    """What somebody else, or a look-up, has done meanwhile."""
    if effect.state != EffectState.IN_DOUBT:
        last = doubts.last_word(effect)
        by = f", settled by {actors.names([last.actor])[last.actor]}" if last is not None else ""
        return f"Somebody was faster: it is {effect.state}{by}."
    proposed = doubts.proposal(asked)
    if proposed is not None:
        who = actors.names([proposed["by"]])[proposed["by"]]
        return f"{who} has proposed a verdict meanwhile: {proposed['verdict']}."
    return "What is known about it has changed meanwhile."


def _look(effect: Effect, doubt: Wait, now: datetime) -> dict[str, Any]:
    """What the newest look-up said, what the next one does by itself, and with whom the effect was left."""
    try:
        can = doubts.can_be_asked(effect)
    except InterlockError:
        can = False
    owner = str(doubt.detail.get("owner", ""))
    return {
        "can": can,
        "url": reverse("look-ups", args=[effect.key]),
        "heard": desk.heard(doubt.detail),
        "next": desk.next_look(effect.next_look_at if can else None, doubt.detail, now),
        "owner": actors.names([owner])[owner] if owner else "",
        "look_at": desk.moment_of(doubt.detail.get("look_at")),
    }


def _effect(effect: Effect, doubt: Wait | None, seen: str, undo: Effect | None) -> dict[str, Any]:
    title = words.title(effect.tool, effect.amount_minor, effect.currency, undo=effect.undo_of_id is not None)
    try:
        payload = differences.read_public(effect.payload, effect.run)
        shown, about = canonical(payload), words.about(payload["args"])
    except InterlockError as error:
        shown, about = canonical(opened.instead(error)), ""
    sentence = words.sentence(str(doubt.detail.get("sentence", ""))) if doubt is not None else ""
    asked = f"{words.sentence(about)} {effect.run.agent} asked for it at step {effect.step}."
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
        "canonical": shown,
        "digest": effect.digest,
        "words": said(effect),
        "minor": effect.amount_minor,
        "currency": effect.currency,
        "receipt": effect.receipt_id,
        "attempt": effect.sends,
        "undo_of_id": effect.undo_of.key if effect.undo_of else None,
        "undone_by_id": undo.key if undo else None,
        "gate_id": getattr(effect, "newest_gate", None),
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


def _key_life(effect: Effect, now: datetime) -> dict[str, Any] | None:
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
    left = half - now
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
