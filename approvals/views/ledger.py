"""The ledger: all effects of all runs, and the search in it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from approvals import access, htmx
from approvals.capabilities import Capability
from approvals.ledger_query import LedgerQuery, parse
from approvals.queries import effects, erasures, ledger_words, pages, searching, subjects
from approvals.queries.searching import Search
from approvals.views.doors import SignedIn, door, query_text
from durable import summary
from durable.clock import db_now
from durable.text import mend


@door("GET", needs=Capability.SEE_LEDGER)
def ledger(request: SignedIn) -> HttpResponse:
    """Every act that touched the outside world, or was about to: all of them, or what a query finds."""
    # Nothing becomes of an effect without an event.
    position = summary.position()
    version = pages.version(position[1])
    if htmx.unchanged(request, version):
        return htmx.not_modified()
    now = db_now()
    search = searching.look_up(parse(asked(request), now, subjects.kinds()), position)
    after, before = (pages.cursor(request.GET.get(name)) for name in ("after", "before"))
    context = effects.listing(effects.shown(search, after=after, before=before))
    # What was erased is still found by its whole name; where nothing is, or a part of one, nothing was erased.
    whole = context["effects"] and not search.about
    context["erased"] = erasures.of_query(search.query) if whole else []
    context |= {"version": version, "now": now, "part": htmx.wants_fragment(request)}
    context |= _around(request, search)
    return htmx.page(request, "approvals/ledger.html", context, fragment="rows")


def asked(request: SignedIn) -> str:
    """The text of an address's query: `q`, and the older form `state`."""
    text, state = query_text(request, "q"), query_text(request, "state")
    return f'{text} state:"{state}"'.strip() if state and "state:" not in text else text


def _around(request: SignedIn, search: Search) -> dict[str, Any]:
    """The query, how it was understood, and what else it may mean."""
    query: LedgerQuery = search.query
    return {
        "q": asked(request) if query.problems else str(query),
        "query": query,
        "problems": [*search.problems],
        "parts": [
            {"key": key, "value": value, "without": effects.address(query.without(key))}
            for key, value in query.parts
        ],
        "wider": effects.address(query.wider) if query.wider else "",
        "about": search.about,
        "names": search.names,
        "readings": [
            {"words": one["words"], "query": effects.address(one["query"])}
            for one in ledger_words.readings(query, search.groups)
        ],
        "suggestions": ledger_words.suggestions("") if not htmx.wants_fragment(request) else [],
        "may_take": access.may(request.user, Capability.EXPORT),
        "behind": search.standing.blocks is None,
    }


@door("GET", needs=Capability.SEE_LEDGER)
def suggestions(request: SignedIn) -> HttpResponse:
    """What may come next in a query; for the field's list of completions."""
    found = ledger_words.suggestions(mend(request.GET.get("q", "")).lstrip()[:500])
    return render(request, "approvals/_words.html", {"suggestions": found})
