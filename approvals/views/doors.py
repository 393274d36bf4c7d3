"""What every view passes: method, sign-in, right, and the plain answers to what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, cast

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from approvals import access, catalogue
from approvals.capabilities import Capability
from approvals.htmx import HtmxHttpRequest
from durable.errors import NotFound
from durable.text import mend


class SignedIn(HtmxHttpRequest):
    """A request of somebody who has signed in."""

    user: User


class View(Protocol):
    """A view behind a door."""

    def __call__(self, request: SignedIn, *args: Any, **kwargs: Any) -> HttpResponse: ...


def door(*methods: str, needs: Capability | None = None) -> Callable[[View], Callable[..., HttpResponse]]:
    """Let a request through to a view: these methods, signed-in people, and those with the right, where one is named.

    A list without its right is 403. Single objects name no right here: their getter answers 404 for both what is not
    there and what is not theirs.
    """
    allowed = (*methods, "HEAD") if "GET" in methods else methods

    def wrap(view: View) -> Callable[..., HttpResponse]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method not in allowed:
                return HttpResponseNotAllowed(allowed)
            if not isinstance(request.user, User):
                return redirect_to_login(_return_path(request))
            if needs is not None and not access.may(request.user, needs):
                raise PermissionDenied("Your role does not include the right for this page.")
            if any(isinstance(value, str) and mend(value) != value for value in kwargs.values()):
                raise Http404("no such address")  # no database could hold it
            catalogue.load()
            try:
                return view(cast(SignedIn, request), *args, **kwargs)
            except NotFound as error:
                raise Http404(str(error)) from None

        return guarded

    return wrap


def query_text(request: HttpRequest, name: str) -> str:
    """A text from the address, made such that a database can look for it. Empty where there is none."""
    return mend(request.GET.get(name, "")).strip()


def _return_path(request: HttpRequest) -> str:
    """Where sign-in leads back to: the page that was asked for, or, after a POST, the page that it stood on."""
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    came_from = request.headers.get("Referer", "")
    inside = url_has_allowed_host_and_scheme(
        came_from, {request.get_host()}, require_https=request.is_secure()
    )
    return came_from.partition(request.get_host())[2] if inside else "/"


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 in words: the page is from another sign-in. Nothing was done, and reloading the page mends it."""
    who = f" You are signed in as {request.user.get_username()} now." if request.user.is_authenticated else ""
    words = f"This page is from before you signed in last, perhaps in another tab.{who} Go back, reload it, try again."
    return render(request, "403.html", {"exception": words}, status=403)
