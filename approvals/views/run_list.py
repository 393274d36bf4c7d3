"""The list of runs: its query, its page, and what a page that stands open must be told."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django_htmx.http import HttpResponseClientRefresh

from approvals import access, attempts, htmx
from approvals.bulk_acts import BULK
from approvals.capabilities import Capability
from approvals.models import RunView
from approvals.queries import pages, run_list, run_words
from approvals.queries.runs import address
from approvals.run_query import RunQuery, parse
from approvals.views.doors import SignedIn, door, query_text
from durable.clock import db_now
from durable.text import mend

TEMPLATE = "approvals/run_list.html"


def asked(request: SignedIn) -> RunQuery:
    """The query of an address: `q`, and the older form `state`."""
    text, state = query_text(request, "q"), query_text(request, "state")
    return parse(f'{text} status:"{state}"' if state and "status:" not in text else text)


@door("GET", needs=Capability.SEE_RUNS)
def runs(request: SignedIn) -> HttpResponse:
    """The list of runs; to a page that stands open, what has changed on it."""
    query = asked(request)
    return _told(request, query) if htmx.wants_fragment(request) else _page(request, query)


def refused(request: SignedIn, problem: str, status: int = HTTPStatus.UNPROCESSABLE_ENTITY) -> HttpResponse:
    """The list once more, with the reason why what was posted from it was not done."""
    attempts.because(request, problem)
    query = parse(mend(request.POST.get("q", "")))
    return _page(request, query, status=status, problem=problem)


def _page(
    request: SignedIn, query: RunQuery, *, status: int = HTTPStatus.OK, problem: str = ""
) -> HttpResponse:
    after, before = (pages.cursor(request.GET.get(name)) for name in ("after", "before"))
    now = db_now()
    context = run_list.page(query, now, after=after, before=before)
    context |= {"poll": _poll(query, context["shown"]), "now": now}
    context |= {"problem": problem, "section": "runs" if problem else ""}
    return render(request, TEMPLATE, context | _around(request, context["query"]), status=status)


def _told(request: SignedIn, query: RunQuery) -> HttpResponse:
    """204 while the page looks as it would be shown, else the rows that look different now, in place."""
    shown = run_list.Shown.read(request.GET.dict())
    if shown is None:
        return HttpResponseClientRefresh()
    now = db_now()
    context = run_list.changed(query, shown, now)
    if htmx.unchanged(request, context["shown"].version):
        return htmx.not_modified()
    context |= {"poll": _poll(query, context["shown"]), "now": now, "query": query, "oob": True}
    context |= {"q": str(query), "address": address(query), "may_act": _may_act(request)}
    return render(request, f"{TEMPLATE}#live", context)


def _may_act(request: SignedIn) -> bool:
    return access.may(request.user, Capability.STEER_RUNS)


def _poll(query: RunQuery, shown: run_list.Shown) -> str:
    return urlencode({"q": str(query), **shown.address()})


def _around(request: SignedIn, query: RunQuery) -> dict[str, Any]:
    """What stands around the rows of a whole page: the query and how it was understood, views, and acts."""
    typed = query_text(request, "q") if query.problems else str(query)
    saved = RunView.objects.filter(person=request.user).order_by("name")
    views = [
        {"id": view.pk, "name": view.name, "query": address(view.query), "current": view.query == str(query)}
        for view in saved
    ]
    parts = [
        {"key": key, "value": value, "without": address(query.without(key))} for key, value in query.parts
    ]
    known = {
        str(parse(f"status:{status}")) for status in ("stuck", "waiting", "in-doubt", "expiring", "held")
    }
    named = str(query) in known or any(view["current"] for view in views)
    return {
        "q": typed,
        "address": address(query),
        "parts": parts,
        "saved": views,
        "may_save": bool(parts) and not query.problems and not named,
        "may_act": _may_act(request),
        "acts": BULK,
        "suggestions": run_words.suggestions(""),
    }


@door("GET", needs=Capability.SEE_RUNS)
def suggestions(request: SignedIn) -> HttpResponse:
    """What may come next in a query; for the field's list of completions."""
    found = run_words.suggestions(mend(request.GET.get("q", "")).lstrip()[:500])
    return render(request, "approvals/_words.html", {"suggestions": found})
