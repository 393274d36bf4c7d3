"""The history of refunds, and of whatever else moves money."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from approvals.capabilities import Capability
from approvals.queries import refunds as queries
from approvals.views.doors import SignedIn, door, query_text
from durable.clock import db_now


@door("GET", needs=Capability.SEE_LEDGER)
def refunds(request: SignedIn) -> HttpResponse:
    """What was moved when, by whom and why: of refunds, or of the `tool` that the address names."""
    now = db_now()
    span = queries.period(query_text(request, "period"))
    context = queries.history(query_text(request, "tool"), span, now)
    return render(request, "approvals/refunds.html", context | {"now": now})
