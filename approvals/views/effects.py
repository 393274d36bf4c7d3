"""One effect of the ledger."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse

from approvals import access, htmx
from approvals.queries import effect as one_effect
from approvals.queries import verdict
from approvals.views.doors import SignedIn, door
from durable.models import Effect


@door("GET")
def effect(request: SignedIn, key: str) -> HttpResponse:
    """One effect, by its key."""
    found = access.get_effect(request.user, key)
    seen = one_effect.version(found)
    if htmx.unchanged(request, seen):
        return htmx.not_modified()
    return show(request, found, seen=seen)


def show(
    request: SignedIn, found: Effect, *, status: int = HTTPStatus.OK, problem: str = "", seen: str = ""
) -> HttpResponse:
    """The effect's page."""
    context = one_effect.detail(found, seen)
    verdicts = verdict.offered(request.user, found, context["doubt"])
    acts = verdict.acts(request.user, found, context["doubt"])
    context |= {"verdicts": verdicts, "acts": acts, "problem": problem, "section": "ledger"}
    settled = context["effect"]["settled"]
    return htmx.page(
        request, "approvals/effect_detail.html", context, fragment="live", ended=settled, status=status
    )
