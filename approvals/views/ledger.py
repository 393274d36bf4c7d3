"""The ledger: all effects of all runs."""

from __future__ import annotations

from django.http import HttpResponse

from approvals import htmx
from approvals.capabilities import Capability
from approvals.queries import effects, pages
from approvals.views.doors import SignedIn, door, query_text


@door("GET", needs=Capability.SEE_LEDGER)
def ledger(request: SignedIn) -> HttpResponse:
    """Every act that touched the outside world, or was about to."""
    state, q = query_text(request, "state"), query_text(request, "q")
    after, before = (pages.cursor(request.GET.get(name)) for name in ("after", "before"))
    shown = effects.shown(state, q, after=after, before=before)
    if htmx.unchanged(request, shown.version):
        return htmx.not_modified()
    context = effects.listing(shown, q)
    if not htmx.wants_fragment(request):
        context["filters"] = effects.chips(shown, q)
    return htmx.page(request, "approvals/ledger.html", context, fragment="rows")
