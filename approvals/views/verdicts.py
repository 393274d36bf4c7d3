"""Verdicts: what a person says became of an effect in doubt."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from functools import partial
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.urls import reverse

from approvals import access, attempts, htmx, problems, verdict_access
from approvals.capabilities import Capability
from approvals.errors import Refused
from approvals.forms import VerdictForm
from approvals.queries.verdict import ACKNOWLEDGE, ASK_AGAIN, CANT_TELL, DID_NOT, HAPPENED, UNDO
from approvals.views.doors import SignedIn, door
from approvals.views.effects import show
from durable import doubts, verdicts
from durable.errors import InterlockError, Invalid
from durable.states import EffectState

_SETTLED = "Recorded, under your name. The run goes on from here."
_PROPOSED = "Proposed, under your name. It stays in doubt until another person says the same."
_LEFT = "Recorded, under your name. It stays in doubt, and stands in the list with its owner."


@door("POST")
def verdict(request: SignedIn, key: str) -> HttpResponse:
    """Record what a person has found out about an effect."""
    found = access.get_effect(request.user, key)
    proposed = doubts.proposal(doubts.question(found)) if found.state == EffectState.IN_DOUBT else None
    hindrance = verdict_access.why_no_verdict(request.user, proposed)
    if hindrance is not None:
        raise access.Missing(Capability.SETTLE, f"{hindrance[:1].upper()}{hindrance[1:]}.")
    form = VerdictForm(request.POST, currency=found.currency)
    if not form.is_valid():
        return show(
            request,
            found,
            status=HTTPStatus.UNPROCESSABLE_ENTITY,
            problem=f"Nothing was recorded: {problems.of_form(form)}.",
        )
    try:
        done = _say(request.user, key, **form.cleaned_data)
    except Refused as refusal:
        right = Capability.STEER_RUNS if form.cleaned_data["verdict"] == UNDO else Capability.SETTLE
        attempts.refused(request, str(refusal), right.value)
        found = access.get_effect(request.user, key)
        return show(request, found, status=HTTPStatus.FORBIDDEN, problem=str(refusal))
    except InterlockError as refusal:
        status = HTTPStatus.UNPROCESSABLE_ENTITY if isinstance(refusal, Invalid) else HTTPStatus.CONFLICT
        found = access.get_effect(request.user, key)
        return show(request, found, status=status, problem=f"Nothing was recorded: {problems.told(refusal)}.")
    messages.success(request, done)
    return htmx.see_other(request, reverse("effect", args=[key]))


def _say(
    person: User,
    key: str,
    *,
    verdict: str,
    reason: str,
    receipt: str,
    amount: Decimal | None,
    owner: str,
    within: int,
    seen: str,
    undoes: str,
) -> str:
    """Give the engine one verdict. Returns what the page says afterwards."""
    actor = access.actor(person)
    shown: dict[str, Any] = {"seen": seen, "check": partial(verdict_access.check_verdict, person)}
    if verdict == HAPPENED:
        settled = verdicts.happened(
            key, actor=actor, reason=reason, receipt_id=receipt, amount=amount, **shown
        )
    elif verdict == DID_NOT:
        settled = verdicts.did_not(key, actor=actor, reason=reason, **shown)
    elif verdict == CANT_TELL:
        doubts.leave(
            key,
            actor=actor,
            reason=reason,
            owner=_owner(owner or actor),
            within=timedelta(seconds=within),
            **shown,
        )
        return _LEFT
    elif verdict == ACKNOWLEDGE:
        verdicts.acknowledge(key, actor=actor, reason=reason, **shown)
        return _SETTLED
    elif verdict == ASK_AGAIN:
        verdicts.ask_again(key, actor=actor, reason=reason, **shown)
        return _SETTLED
    else:
        settled = verdicts.undo(
            key, actor=actor, reason=reason, receipt_id=receipt, amount=amount, undoes=undoes, **shown
        )
    return _SETTLED if settled else _PROPOSED


def _owner(name: str) -> str:
    """Who looks next: somebody who may then also say what they found."""
    if not access.settlers().filter(username=name).exists():
        raise Invalid("owner", f"{name} is nobody who may settle effects; choose one of the list")
    return name


@door("POST")
def look_ups(request: SignedIn, key: str) -> HttpResponse:
    """Let the vendor be asked again now."""
    found = access.get_effect(request.user, key)
    if not access.may(request.user, Capability.SETTLE):
        raise access.Missing(
            Capability.SETTLE, "Your role does not include the right to have a vendor asked again."
        )
    try:
        doubts.look_now(key, actor=access.actor(request.user))
    except InterlockError as refusal:
        return show(
            request,
            found,
            status=HTTPStatus.CONFLICT,
            problem=f"Nothing was asked: {problems.told(refusal)}.",
        )
    messages.success(request, "The vendor is asked with the next sweep; what it says appears here.")
    return htmx.see_other(request, reverse("effect", args=[key]))
