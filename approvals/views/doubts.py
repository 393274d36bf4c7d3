"""The in-doubt desk."""

from __future__ import annotations

from django.http import HttpResponse

from approvals import htmx
from approvals.capabilities import Capability
from approvals.queries import doubts as desk
from approvals.views.doors import SignedIn, door, query_text


@door("GET", needs=Capability.SEE_LEDGER)
def doubts(request: SignedIn) -> HttpResponse:
    """Effects of which nobody can tell whether they happened, in the order in which people should work."""
    context = desk.desk(query_text(request, "after"))
    return htmx.page(
        request, "approvals/doubt_list.html", context, fragment="rows", version=context["version"]
    )
