"""What a person may say about an effect that needs one, each with what will follow."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from approvals import access, outcomes
from approvals.capabilities import Capability
from approvals.queries import words
from durable import tools, verdicts
from durable.errors import InterlockError
from durable.models import Effect, Wait
from durable.states import UNSETTLED, EffectState, RunState

HAPPENED, DID_NOT, UNDO = "happened", "did not", "undo"
ACKNOWLEDGE, ASK_AGAIN = "acknowledge", "ask again"
VERDICTS = (HAPPENED, DID_NOT, UNDO, ACKNOWLEDGE, ASK_AGAIN)


def offered(user: User, effect: Effect, doubt: Wait | None) -> dict[str, Any] | None:
    """The choices of _verdict.html; None where nothing is in doubt, or this person may not say."""
    if effect.state != EffectState.IN_DOUBT or not access.may(user, Capability.SETTLE):
        return None
    return {
        "url": reverse("verdicts", args=[effect.key]),
        "choices": [_happened(effect), _did_not(effect), _undo(effect)],
        "pick": bool(doubt is not None and doubt.detail.get("candidates")),
        "threshold_note": "one verdict settles it; whoever comes second is told",
    }


def acts(user: User, effect: Effect, attention: Wait | None) -> list[dict[str, Any]]:
    """What a person may say about a settled effect, for _ask.html: that it was looked at, or that it be asked anew."""
    if not access.may(user, Capability.SETTLE) or EffectState(effect.state) in UNSETTLED:
        return []
    found = []
    if attention is not None:
        lines = [
            "Nothing about the effect changes: your words are kept.",
            "A run that waited for this goes on.",
        ]
        found.append(_act(effect, ACKNOWLEDGE, "Close the question", "check", lines))
    run = effect.run
    if effect.state == EffectState.FAILED and (run.step, run.visit) == (effect.step, effect.visit):
        lines = [
            f"When step {effect.step} is executed next, it asks for this anew, under a new key linked to this one.",
            "People are asked first, whoever answered before. Nothing is sent by this alone.",
        ]
        found.append(_act(effect, ASK_AGAIN, "Let it be asked again", "refresh", lines))
    return found


def _act(effect: Effect, verdict: str, label: str, icon: str, preview: list[str]) -> dict[str, Any]:
    return {
        "id": verdict.replace(" ", "-"),
        "url": reverse("verdicts", args=[effect.key]),
        "label": label,
        "icon": icon,
        "kind": "",
        "title": label,
        "preview": preview,
        "reason": "required",
        "hidden": {"verdict": verdict},
        "fields": [],
        "verb": label,
    }


def _money(effect: Effect) -> str:
    return "" if effect.amount_minor is None else words.money(effect.amount_minor, effect.currency)


def _happened(effect: Effect) -> dict[str, Any]:
    spent = f" {_money(effect)} reserved becomes spent." if _money(effect) else ""
    note = f"Needs the vendor's receipt, and adopts it. Nothing is sent; the run goes on from here.{spent}"
    return {"value": HAPPENED, "label": "It happened", "note": note, "icon": "circle-check", "allowed": True}


def _did_not(effect: Effect) -> dict[str, Any]:
    """Not before quiescence; the command checks that again, under its locks."""
    choice = {"value": DID_NOT, "label": "It did not happen", "icon": "circle-minus"}
    try:
        outlook = verdicts.outlook(effect)
    except InterlockError as error:
        return {**choice, "note": f"Can't be said: {error}.", "allowed": False}
    if not outlook.may_be_said:
        when = outcomes.moment(outlook.not_before)
        return {**choice, "note": f"Too early: the request may still land. From {when} on.", "allowed": False}
    if outlook.same_key:
        note = "Sent again under the same key, which the vendor still honours."
    elif RunState(effect.run.state) is RunState.SUSPENDED:
        note = (
            "Closed as not happened. The step asks anew under a new, linked key, and people are asked first."
        )
    else:
        note = "Closed as not happened. Nothing is sent: the run is on its way to an end."
    back = (
        f" {_money(effect)} is given back to the budget." if _money(effect) and not outlook.same_key else ""
    )
    return {**choice, "note": note + back, "allowed": True}


def _undo(effect: Effect) -> dict[str, Any]:
    choice = {"value": UNDO, "label": "It happened, undo it", "icon": "arrow-back-up"}
    if effect.undo_of_id is not None:
        return {**choice, "note": "An undo is not undone.", "allowed": False}
    try:
        can = tools.get(effect.tool).undo_act is not None
    except InterlockError:
        can = False
    note = "Settles it as happened, with its receipt; then the run is ended and all that it did is undone."
    if not can:
        note += " This one has no undo: it will be listed as not undone."
    return {**choice, "note": note, "allowed": True}
