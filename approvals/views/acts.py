"""The log of acts: everything that a person or the machine did, or was refused."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from approvals import access, htmx
from approvals.capabilities import Capability
from approvals.log_query import ONLIES, LogQuery, parse
from approvals.queries import act_list, log_words, pages
from approvals.queries.act_list import Place, place
from approvals.views.doors import SignedIn, door, query_text
from durable.clock import db_now

TEMPLATE = "approvals/act_list.html"


@door("GET", needs=Capability.SEE_LOG)
def acts(request: SignedIn) -> HttpResponse:
    """The acts that a query finds; to a page that stands open, how many have come since."""
    query, newest = parse(query_text(request, "q")), place(request.GET.get("newest"))
    if htmx.wants_fragment(request) and newest is not None:
        return _news(request, query, newest)
    after, before = (place(request.GET.get(name)) for name in ("after", "before"))
    now = db_now()
    context = act_list.listing(query, after=after, before=before)
    top = context["acts"][0] if context["acts"] and not context["page"]["newer"] else None
    news = _told(query, Place(top["at"], top["id"]) if top else None, 0)
    context |= {"now": now, "query": query, "address": _address(query), **news}
    return render(request, TEMPLATE, context | _around(request, query))


def _news(request: SignedIn, query: LogQuery, newest: Place) -> HttpResponse:
    """204 while nothing has come since the newest act that is shown, but what the page has said of already."""
    count = 0 if query.problems else act_list.newer(query, newest)
    if htmx.unchanged(request, str(count)):
        return htmx.not_modified()
    context = {"query": query, "address": _address(query), **_told(query, newest, count)}
    return render(request, f"{TEMPLATE}#news", context)


def _told(query: LogQuery, newest: Place | None, count: int) -> dict[str, Any]:
    """What the page says of newer acts, and how it asks for them; nothing where it does not show the newest."""
    poll = urlencode({"q": str(query), "newest": str(newest), "seen": str(count)}) if newest else ""
    return {"poll": poll, "news": pages.words(count) if count else "", "one": count == 1}


def _address(query: LogQuery) -> str:
    return urlencode({"q": str(query)}) if query.parts else ""


def _around(request: SignedIn, query: LogQuery) -> dict[str, Any]:
    """What stands around the rows: the query as it was typed and understood, and ways to narrow it."""
    chips = [("", "All"), *ONLIES.items()]
    return {
        "q": query_text(request, "q") if query.problems else str(query),
        "parts": [
            {"key": key, "value": value, "without": _address(query.without(key))}
            for key, value in query.parts
        ],
        "chips": [
            {"label": label, "query": _address(query.with_only(one)), "current": query.only == one}
            for one, label in chips
        ],
        "may_take": access.may(request.user, Capability.EXPORT),
        "suggestions": log_words.suggestions(query_text(request, "q")),
    }
