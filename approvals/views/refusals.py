"""What somebody is told who may not: which right is missing, who can give it, and where they may go instead."""

from __future__ import annotations

from http import HTTPStatus
from typing import cast

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from approvals import access, attempts, outcomes
from approvals.capabilities import ADMIN
from approvals.htmx import HtmxHttpRequest
from approvals.views import kept


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403 (Django's `handler403`): what is missing, who the person is here, and who could change that."""
    right = exception.capability.value if isinstance(exception, access.Missing) else ""
    attempts.refused(request, str(exception or ""), right)
    context = {"missing": str(exception or ""), "you": _you(request), "givers": _givers()}
    return render(request, "403.html", context, status=HTTPStatus.FORBIDDEN)


def stranger(request: HttpRequest) -> HttpResponse:
    """Lead to the sign-in and back. What was typed for an act is kept meanwhile; the act itself is not done."""
    if request.method in ("GET", "HEAD"):
        return redirect_to_login(request.get_full_path())
    attempts.refused(request, "not signed in")
    typed = kept.typed(request)
    if typed is not None:
        return kept.sign_in_first(request, typed)
    return redirect_to_login(kept.came_from(request))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 in words: the page is from another sign-in. Nothing was done, and what was typed is offered once more."""
    attempts.refused(request, "the form was not one of ours, or from another sign-in")
    why = "This page is from before you signed in last, perhaps in another tab."
    typed = kept.typed(request)
    if typed is None or (request.user.is_authenticated and bool(getattr(request, "htmx", False))):
        words = f"{why} Go back, reload it, and try again."
        context = {"missing": words, "you": _you(request), "stale": kept.came_from(request)}
        return render(request, "403.html", context, status=HTTPStatus.FORBIDDEN)
    if not request.user.is_authenticated:
        return kept.sign_in_first(request, typed)
    return kept.offered(request, typed, f"{why} {_you(request)}", HTTPStatus.FORBIDDEN)


def _you(request: HttpRequest) -> str:
    """Who the person is here, for whoever has signed in as somebody else meanwhile."""
    user = cast(HtmxHttpRequest, request).user
    if not isinstance(user, User):
        return "You are not signed in."
    role = access.role(user)
    return f"You are signed in as {outcomes.name(user)}{f' ({role})' if role else ''}."


def _givers() -> list[str]:
    """The people who set rights: admins, by name."""
    found = User.objects.filter(groups__name=ADMIN, is_active=True).order_by("username")[:5]
    return [outcomes.name(person) for person in found]
