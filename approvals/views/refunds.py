"""The history of refunds, and of whatever else moves money."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse

from approvals import days, htmx
from approvals.capabilities import Capability
from approvals.queries import pages, periods
from approvals.queries import refunds as queries
from approvals.views.doors import SignedIn, door, query_text
from durable import summary
from durable.clock import db_now


@door("GET", needs=Capability.SEE_LEDGER)
def refunds(request: SignedIn) -> HttpResponse:
    """What was moved when, by whom and why: of refunds, or of the `tool` that the address names; in one of the periods,
    or `from` one day `to` another, both included.
    """
    # Nothing becomes of an effect without an event; what the last so many days are, the day says.
    position, now = summary.position(), db_now()
    version = pages.version(position, days.today(now))
    if htmx.unchanged(request, version):
        return htmx.not_modified()
    name, first, last = (query_text(request, one).strip() for one in ("period", "from", "to"))
    asked = periods.asked(name, first, last, now, queries.first_day(now))
    context = queries.history(query_text(request, "tool"), asked, now)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if asked.problems else HTTPStatus.OK
    context |= {"now": now, "version": version}
    return htmx.page(request, "approvals/refunds.html", context, fragment="moved", status=status)
