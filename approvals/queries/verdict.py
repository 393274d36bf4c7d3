"""The verdicts that may be given on an effect in doubt, each with what will follow."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from approvals import access, outcomes
from approvals.capabilities import Capability
from durable import tools
from durable.clock import db_now
from durable.errors import InterlockError
from durable.models import Effect, Wait
from durable.states import EffectState

HAPPENED, DID_NOT, UNDO = "happened", "did not", "undo"
VERDICTS = (HAPPENED, DID_NOT, UNDO)


def offered(user: User, effect: Effect, doubt: Wait | None) -> dict[str, Any] | None:
    """The choices of _verdict.html; None where nothing is in doubt, or this person may not say."""
    if effect.state != EffectState.IN_DOUBT or not access.may(user, Capability.SETTLE):
        return None
    candidates = doubt.detail.get("candidates") or [] if doubt is not None else []
    only = str(candidates[0].get("id", "")) if len(candidates) == 1 else ""
    return {
        "url": reverse("verdicts", args=[effect.key]),
        "choices": [_happened(), _did_not(effect), _undo(effect)],
        "receipt_value": only,
        "threshold_note": "",
    }


def _happened() -> dict[str, Any]:
    note = "Needs the vendor's receipt. The run goes on with it, as if the answer had come."
    return {"value": HAPPENED, "label": "It happened", "note": note, "icon": "circle-check", "allowed": True}


def _did_not(effect: Effect) -> dict[str, Any]:
    """Not before quiescence; the command checks that again, under its locks."""
    choice = {"value": DID_NOT, "label": "It did not happen", "icon": "circle-minus"}
    try:
        facts = tools.get(effect.tool).facts
    except InterlockError as error:
        return {**choice, "note": f"Can't be said: {error}.", "allowed": False}
    quiet = effect.send_by + facts.in_flight + facts.lookup_lag if effect.send_by is not None else None
    if quiet is None or db_now() < quiet:
        when = f"from {outcomes.moment(quiet)} on" if quiet is not None else "later"
        return {**choice, "note": f"The request may still land; it can be said {when}.", "allowed": False}
    note = "A young key is sent again. Otherwise it is asked about anew, under a new, linked key."
    return {**choice, "note": note, "allowed": True}


def _undo(effect: Effect) -> dict[str, Any]:
    note = "Settles it as happened, with its receipt; then the run is cancelled and what it did is undone."
    allowed = effect.undo_of_id is None
    return {"value": UNDO, "label": "Undo it", "note": note, "icon": "arrow-back-up", "allowed": allowed}
