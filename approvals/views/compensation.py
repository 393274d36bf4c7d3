"""Compensation: the runs on their way back, and how far one of them is."""

from __future__ import annotations

from django.http import HttpResponse

from approvals import access, htmx
from approvals.acts import offered
from approvals.capabilities import Capability
from approvals.queries import compensation as way_back
from approvals.queries import pages
from approvals.queries import run as one_run
from approvals.views.doors import SignedIn, door, query_text
from durable.states import RunState

#: A run that has been on its way back is there for good: no act of this page fits it.
_OVER = (RunState.COMPENSATED, RunState.PARTLY_COMPENSATED)


@door("GET", needs=Capability.SEE_RUNS)
def compensations(request: SignedIn) -> HttpResponse:
    """The runs that were compensated in part, or are being compensated."""
    after, before = (pages.cursor(request.GET.get(name)) for name in ("after", "before"))
    context = way_back.listing(query_text(request, "state"), after=after, before=before)
    context["part"] = htmx.wants_fragment(request)
    return htmx.page(
        request, "approvals/compensation_list.html", context, fragment="rows", version=context["version"]
    )


@door("GET")
def compensation(request: SignedIn, ref: str) -> HttpResponse:
    """One run's way back: what it would undo, how far it is, and what it left."""
    run = access.get_ledger_of_run(request.user, ref)
    acts, now = [], None
    if not htmx.wants_fragment(request) and run.state not in _OVER:
        read = one_run.read(run, log=False)
        acts = [act for act in offered(request.user, read) if act["id"] in ("compensations", "releases")]
        now = read.now
    context = way_back.page(run, now)
    context |= {"acts": acts, "section": "compensation"}
    context["may_settle"] = access.may(request.user, Capability.SETTLE)
    return htmx.page(
        request, "approvals/compensation.html", context, fragment="live", version=context["version"]
    )
