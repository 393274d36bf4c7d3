"""Verdicts: what a person says became of an effect in doubt."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.urls import reverse

from approvals import access, htmx
from approvals.capabilities import Capability
from approvals.forms import VerdictForm, first_error
from approvals.queries.verdict import ACKNOWLEDGE, ASK_AGAIN, DID_NOT, HAPPENED
from approvals.views.doors import SignedIn, door
from approvals.views.effects import show
from durable import verdicts
from durable.errors import InterlockError, Invalid


@door("POST")
def verdict(request: SignedIn, key: str) -> HttpResponse:
    """Record what a person has found out about an effect."""
    found = access.get_effect(request.user, key)
    if not access.may(request.user, Capability.SETTLE):
        raise PermissionDenied("Your role does not include the right to settle an effect.")
    form = VerdictForm(request.POST)
    if not form.is_valid():
        return show(request, found, status=HTTPStatus.UNPROCESSABLE_ENTITY, problem=first_error(form))
    try:
        _say(key, access.actor(request.user), **form.cleaned_data)
    except InterlockError as refusal:
        status = HTTPStatus.UNPROCESSABLE_ENTITY if isinstance(refusal, Invalid) else HTTPStatus.CONFLICT
        found = access.get_effect(request.user, key)
        return show(request, found, status=status, problem=f"Nothing was recorded: {refusal}.")
    messages.success(request, "Recorded, under your name. The run goes on from here.")
    return htmx.see_other(request, reverse("effect", args=[key]))


def _say(key: str, actor: str, *, verdict: str, reason: str, receipt: str) -> None:
    if verdict == HAPPENED:
        verdicts.happened(key, actor=actor, reason=reason, receipt_id=receipt)
    elif verdict == DID_NOT:
        verdicts.did_not(key, actor=actor, reason=reason)
    elif verdict == ACKNOWLEDGE:
        verdicts.acknowledge(key, actor=actor, reason=reason)
    elif verdict == ASK_AGAIN:
        verdicts.ask_again(key, actor=actor, reason=reason)
    else:
        verdicts.undo(key, actor=actor, reason=reason, receipt_id=receipt)
