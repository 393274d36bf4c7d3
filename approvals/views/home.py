"""The first page: where things stand, and the lists behind its numbers."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render

from approvals import access, htmx
from approvals import context as shell
from approvals.capabilities import Capability
from approvals.queries import behind as lists
from approvals.queries import home as standing
from approvals.queries import pages, pictures, trends
from approvals.views.doors import SignedIn, door, query_text
from durable.clock import db_now

_NO_ROLE = "You have no role here yet. An administrator gives you one."


@door("GET")
def home(request: SignedIn) -> HttpResponse:
    """Numbers and lists, polled often; and pictures of the last time, which htmx asks for apart (`?part=trends`)."""
    held = access.capabilities(request.user)
    if not held:
        raise PermissionDenied(_NO_ROLE)
    if htmx.wants_fragment(request) and request.GET.get("part") == "trends":
        drawn = _trends(request)
        return htmx.page(
            request, "approvals/home.html", drawn, fragment="trends", version=drawn["trends_version"]
        )
    context = standing.standing(request.user)
    if not htmx.wants_fragment(request):
        context |= _trends(request)
    return htmx.page(request, "approvals/home.html", context, fragment="live", version=context["version"])


def _trends(request: SignedIn) -> dict[str, Any]:
    """The pictures that this person may see, over the period that the address names."""
    held, span = access.capabilities(request.user), trends.period(query_text(request, "period"))
    context: dict[str, Any] = {"period": span, "periods": list(trends.PERIODS.values()), "pictures": False}
    if held & {Capability.SEE_RUNS, Capability.SEE_GATES, Capability.SEE_LEDGER}:
        found = trends.read(span, db_now())
        context |= {
            "pictures": True,
            "throughput": pictures.throughput(found) if Capability.SEE_RUNS in held else None,
            "decisions": pictures.decisions(found) if Capability.SEE_GATES in held else None,
            "moved": pictures.moved(found) if Capability.SEE_LEDGER in held else None,
            "moved_besides": pictures.moved_besides(found) if Capability.SEE_LEDGER in held else [],
        }
    return {**context, "trends_version": pages.version(context)}


@door("GET")
def counts(request: SignedIn) -> HttpResponse:
    """The numbers beside the menu, for a page that stands open: 204 while it shows them. No page of its own."""
    if not htmx.wants_fragment(request):
        raise Http404("a part of every page")
    if not access.capabilities(request.user):
        raise PermissionDenied(_NO_ROLE)
    waiting = shell.waiting(request.user)
    seen = shell.version(waiting)
    if htmx.unchanged(request, seen):
        return htmx.not_modified()
    found = {"menu_counts": waiting.items(), "counts_seen": seen}
    return render(request, "approvals/_counts.html", found)


@door("GET")
def behind(request: SignedIn, name: str) -> HttpResponse:
    """The list that a number of the first page has counted."""
    if name not in lists.LISTS:
        raise Http404("no such list")
    access.check(request.user, lists.LISTS[name].needs)
    after, before = (pages.cursor(request.GET.get(one)) for one in ("after", "before"))
    context = lists.listing(
        request.user,
        name,
        trends.period(query_text(request, "period")),
        query_text(request, "currency"),
        after=after,
        before=before,
    )
    return htmx.page(request, "approvals/behind.html", context, fragment="rows", version=context["version"])
