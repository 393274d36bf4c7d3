"""Tools: the classification table."""

from __future__ import annotations

from django.http import HttpResponse

from approvals import htmx
from approvals.capabilities import Capability
from approvals.queries import pages
from approvals.queries import tools as table
from approvals.views.doors import SignedIn, door, query_text
from durable import summary
from durable.clock import db_now


@door("GET", needs=Capability.SEE_TOOLS)
def tools(request: SignedIn) -> HttpResponse:
    """Every tool, the two questions, and the class that follows."""
    # Nothing becomes of an effect without an event; how long ago something was, the minute says.
    version = pages.version(summary.position()[1], f"{db_now():%Y-%m-%d %H:%M}")
    if htmx.unchanged(request, version):
        return htmx.not_modified()
    context = table.listing(query_text(request, "class")) | {"version": version}
    return htmx.page(request, "approvals/tool_list.html", context, fragment="rows")
