"""One effect of the ledger."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse

from approvals import access, attempts, htmx
from approvals.capabilities import Capability
from approvals.queries import effect as one_effect
from approvals.queries import held, verdict
from approvals.views.doors import SignedIn, door
from durable.models import Effect
from durable.states import EffectState


@door("GET")
def effect(request: SignedIn, key: str) -> HttpResponse:
    """One effect, by its key."""
    found = access.get_effect(request.user, key)
    if request.GET.get("part") == "standing" and htmx.wants_fragment(request):
        return _standing(request, found)
    seen = one_effect.version(found)
    if htmx.unchanged(request, seen):
        return htmx.not_modified()
    return show(request, found, seen=seen)


def _standing(request: SignedIn, found: Effect) -> HttpResponse:
    """What an open verdict form asks now and then: whether all is as its page showed it."""
    context = one_effect.standing(found)
    if htmx.unchanged(request, context["standing"]["seen"]):
        return htmx.not_modified()
    return htmx.page(request, "approvals/effect_detail.html", context, fragment="standing", ended=True)


def show(
    request: SignedIn, found: Effect, *, status: int = HTTPStatus.OK, problem: str = "", seen: str = ""
) -> HttpResponse:
    """The effect's page."""
    if problem:
        attempts.because(request, problem)
    context = one_effect.detail(found, seen)
    asked = one_effect.questions(found)
    verdicts = verdict.offered(request.user, found, asked, context["now"])
    acts = verdict.acts(request.user, found, asked)
    section = "doubts" if found.state == EffectState.IN_DOUBT else "ledger"
    context |= {"verdicts": verdicts, "acts": acts, "problem": problem, "section": section}
    context["held"] = held.of(found)
    context["may_ask"] = access.may(request.user, Capability.SETTLE)
    return htmx.page(request, "approvals/effect_detail.html", context, fragment="live", status=status)
