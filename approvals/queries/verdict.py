"""What a person may say about an effect that needs one, each with what will follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse

from approvals import access, outcomes, verdict_access, verdict_radius
from approvals.capabilities import Capability
from approvals.queries import actors, words
from approvals.verdict_radius import WayBack
from durable import alone, doubts, verdicts
from durable.errors import InterlockError
from durable.models import Effect, Wait
from durable.states import FINAL, UNSETTLED, EffectState, RunState

HAPPENED, DID_NOT, UNDO, CANT_TELL = "happened", "did not", doubts.UNDO, "can't tell"
ACKNOWLEDGE, ASK_AGAIN = "acknowledge", "ask again"
VERDICTS = (HAPPENED, DID_NOT, UNDO, CANT_TELL, ACKNOWLEDGE, ASK_AGAIN)
#: How the engine calls what the form says, where it has another word.
SAID = {DID_NOT: "did not happen"}
#: When somebody who can't tell looks again: seconds, in words.
AGAIN = ((3_600, "in an hour"), (4 * 3_600, "in 4 hours"), (86_400, "tomorrow"), (3 * 86_400, "in 3 days"))
_NAMED, _OWNERS = 4, 50


def offered(user: User, effect: Effect, asked: Sequence[Wait], now: datetime) -> dict[str, Any] | None:
    """The choices of _verdict.html; None where nothing is in doubt, or this person may not say."""
    doubt = asked[0] if asked else None
    proposed = doubts.proposal(doubt)
    if effect.state != EffectState.IN_DOUBT or verdict_access.why_no_verdict(user, proposed) is not None:
        return None
    settlers = list(access.settlers()[:_OWNERS])
    told = _told(user, effect, proposed, settlers)
    back = verdict_radius.of(effect) if effect.undo_of_id is None else None
    choices = [_happened(effect), _did_not(effect, now), _undo(effect, back, proposed), _cant_tell()]
    return {
        "url": reverse("verdicts", args=[effect.key]),
        "seen": doubts.standing(effect, asked, now),
        "undoes": back and back.name,
        "back": back.lines if back is not None and choices[2]["allowed"] else [],
        "choices": [_judged(user, choice, proposed) for choice in choices],
        "pick": bool(doubt is not None and doubt.detail.get("candidates")),
        "money": effect.currency if effect.amount_minor is not None else "",
        "again": AGAIN,
        "owners": [(one.get_username(), outcomes.name(one)) for one in settlers],
        "me": access.actor(user),
        "leaves": access.may(user, Capability.SETTLE),
        **told,
    }


def _told(
    user: User, effect: Effect, proposed: Mapping[str, Any] | None, settlers: Sequence[User]
) -> dict[str, Any]:
    """Whether a second person is needed, who that may be, and what has been proposed."""
    if proposed is None and not alone.needs_second(effect):
        one = "one verdict settles it; whoever comes second is told"
        if effect.amount_minor is not None:
            one = f"up to {settings.VERDICT_ALONE_LIMIT:,} {effect.currency} {one}; of more, another confirms"
        return {"threshold_note": one, "proposed": None, "second": "", "verb": "Record the verdict"}
    limit = f"over {settings.VERDICT_ALONE_LIMIT:,} {effect.currency}: a second person confirms"
    if proposed is None:
        others = [outcomes.name(one) for one in access.seconds(access.actor(user))[: _NAMED + 1]]
        who = ", ".join(others[:_NAMED]) + (" or somebody else" if len(others) > _NAMED else "")
        second = (
            f"Then one of these must say the same: {who}. Until then it stays in doubt."
            if others
            else "Nobody else may confirm it: an admin must name one. Until then it stays in doubt."
        )
        return {"threshold_note": limit, "proposed": None, "second": second, "verb": "Propose the verdict"}
    own = proposed["by"] == access.actor(user)
    by = next((outcomes.name(one) for one in settlers if one.get_username() == proposed["by"]), None)
    shown = {
        "who": "You" if own else by or actors.names([proposed["by"]])[proposed["by"]],
        "own": own,
        "said": proposed["verdict"],
        "receipt": proposed.get("receipt", ""),
        "amount": proposed.get("amount", ""),
    }
    second = (
        "Only another person can agree with it. What else you say replaces it."
        if own
        else "Saying the same, with the same receipt, settles it. Anything else is a new proposal."
    )
    verb = "Propose the verdict" if own else "Record the verdict"
    return {"threshold_note": limit, "proposed": shown, "second": second, "verb": verb}


def _judged(user: User, choice: dict[str, Any], proposed: Mapping[str, Any] | None) -> dict[str, Any]:
    """A choice as this person may make it: not every one is everybody's."""
    word = SAID.get(choice["value"], choice["value"])
    refused = verdict_access.why_no_verdict(user, proposed, word)
    if refused is not None and choice["allowed"]:
        return {**choice, "note": f"{refused[:1].upper()}{refused[1:]}.", "allowed": False}
    return {**choice, "proposed": proposed is not None and word == proposed["verdict"]}


def acts(user: User, effect: Effect, asked: Sequence[Wait]) -> list[dict[str, Any]]:
    """What a person may say about a settled effect, for _ask.html: that it was looked at, or that it be asked anew."""
    if not access.may(user, Capability.SETTLE) or EffectState(effect.state) in UNSETTLED:
        return []
    found, seen = [], doubts.standing(effect, asked)
    if asked:
        lines = [
            "Nothing about the effect changes: your words are kept.",
            "A run that waited for this goes on.",
        ]
        found.append(_act(effect, seen, ACKNOWLEDGE, "Close the question", "check", lines))
    run = effect.run
    if effect.state == EffectState.FAILED and (run.step, run.visit) == (effect.step, effect.visit):
        lines = [
            f"When step {effect.step} is executed next, it asks for this anew, under a new key linked to this one.",
            "People are asked first, whoever answered before. Nothing is sent by this alone.",
        ]
        found.append(_act(effect, seen, ASK_AGAIN, "Let it be asked again", "refresh", lines))
    return found


def _act(
    effect: Effect, seen: str, verdict: str, label: str, icon: str, preview: list[str]
) -> dict[str, Any]:
    return {
        "id": verdict.replace(" ", "-"),
        "url": reverse("verdicts", args=[effect.key]),
        "label": label,
        "icon": icon,
        "kind": "",
        "title": label,
        "preview": preview,
        "reason": "required",
        "hidden": {"verdict": verdict, "seen": seen},
        "fields": [],
        "verb": label,
    }


def _money(effect: Effect) -> str:
    return "" if effect.amount_minor is None else words.money(effect.amount_minor, effect.currency)


def _happened(effect: Effect) -> dict[str, Any]:
    spent = f" {_money(effect)} reserved becomes spent." if _money(effect) else ""
    note = f"Needs the vendor's receipt, and adopts it. Nothing is sent; the run goes on from here.{spent}"
    return {"value": HAPPENED, "label": "It happened", "note": note, "icon": "circle-check", "allowed": True}


def _did_not(effect: Effect, now: datetime) -> dict[str, Any]:
    """Not before quiescence; the command checks that again, under its locks."""
    choice = {"value": DID_NOT, "label": "It did not happen", "icon": "circle-minus"}
    try:
        outlook = verdicts.outlook(effect, now)
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


def _undo(effect: Effect, back: WayBack | None, proposed: Mapping[str, Any] | None) -> dict[str, Any]:
    choice = {"value": UNDO, "label": "It happened, undo it", "icon": "arrow-back-up"}
    if back is None:
        return {**choice, "note": "An undo is not undone.", "allowed": False}
    if effect.run.state in FINAL:
        return {**choice, "note": f"The run is {effect.run.state}; it is not undone again.", "allowed": False}
    if (
        proposed is not None
        and proposed["verdict"] == UNDO
        and proposed.get("undoes", back.name) != back.name
    ):
        note = "What it would undo has changed since it was proposed: this is a new proposal."
        return {**choice, "note": note, "allowed": True}
    note = "Settles it as happened, with its receipt; then ends the run and undoes all that it did, as listed below."
    if proposed is None and back.too_much and not alone.needs_second(effect):
        note += " In all that is more than one person may answer for: another one must say the same."
    return {**choice, "note": note, "allowed": True}


def _cant_tell() -> dict[str, Any]:
    note = "Keeps it in doubt with your words, an owner and a time to look again. Its money stays reserved."
    return {
        "value": CANT_TELL,
        "label": "I can't tell",
        "note": note,
        "icon": "message-circle-question",
        "allowed": True,
    }
