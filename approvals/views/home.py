"""The first page: where things stand, and the lists behind its numbers."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse

from approvals import access, htmx
from approvals.capabilities import Capability
from approvals.queries import behind as lists
from approvals.queries import home as standing
from approvals.queries import pages, pictures, trends
from approvals.views.doors import SignedIn, door, query_text
from durable.clock import db_now


@door("GET")
def home(request: SignedIn) -> HttpResponse:
    """Numbers and lists, polled often; and pictures of the last time, which htmx asks for apart (`?part=trends`)."""
    held = access.capabilities(request.user)
    if not held:
        raise PermissionDenied("You have no role here yet. An administrator gives you one.")
    if htmx.wants_fragment(request) and request.GET.get("part") == "trends":
        return htmx.page(request, "approvals/home.html", _trends(request), fragment="trends")
    context = standing.standing(request.user)
    if not htmx.wants_fragment(request):
        context |= _trends(request)
    return htmx.page(request, "approvals/home.html", context, fragment="live", version=context["version"])


def _trends(request: SignedIn) -> dict[str, Any]:
    """The pictures that this person may see, over the period that the address names."""
    held, span = access.capabilities(request.user), trends.period(query_text(request, "period"))
    context: dict[str, Any] = {"period": span, "periods": list(trends.PERIODS.values()), "pictures": False}
    if not held & {Capability.SEE_RUNS, Capability.SEE_GATES, Capability.SEE_LEDGER}:
        return context
    found = trends.read(span, db_now())
    return context | {
        "pictures": True,
        "throughput": pictures.throughput(found) if Capability.SEE_RUNS in held else None,
        "decisions": pictures.decisions(found) if Capability.SEE_GATES in held else None,
        "moved": pictures.moved(found) if Capability.SEE_LEDGER in held else None,
    }


@door("GET")
def behind(request: SignedIn, name: str) -> HttpResponse:
    """The list that a number of the first page has counted."""
    if name not in lists.LISTS:
        raise Http404("no such list")
    if not lists.may(request.user, name):
        raise PermissionDenied("Your role does not include the right for this list.")
    after, before = (pages.cursor(request.GET.get(one)) for one in ("after", "before"))
    context = lists.listing(
        request.user,
        name,
        trends.period(query_text(request, "period")),
        query_text(request, "currency"),
        after=after,
        before=before,
    )
    return htmx.page(request, "approvals/behind.html", context, fragment="rows")
