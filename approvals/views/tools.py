"""Tools: the classification table."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from approvals.capabilities import Capability
from approvals.queries import tools as table
from approvals.views.doors import SignedIn, door, query_text


@door("GET", needs=Capability.SEE_TOOLS)
def tools(request: SignedIn) -> HttpResponse:
    """Every tool, the two questions, and the class that follows."""
    return render(request, "approvals/tool_list.html", table.listing(query_text(request, "class")))
