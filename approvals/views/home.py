"""The first page: the inbox for who decides, the overview for who watches."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect

from approvals import access, htmx
from approvals.context import has_home
from approvals.queries import home as standing
from approvals.views.doors import SignedIn, door


@door("GET")
def home(request: SignedIn) -> HttpResponse:
    """The overview, or the way to what this person may see."""
    held = access.capabilities(request.user)
    if not held:
        raise PermissionDenied("You have no role here yet. An administrator gives you one.")
    if not has_home(held):
        return redirect("gates")
    context = standing.standing(request.user)
    return htmx.page(request, "approvals/home.html", context, fragment="live", version=context["version"])
