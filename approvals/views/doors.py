"""What every view passes: method, sign-in, right, and the plain answers to what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, cast

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import Resolver404, resolve
from django.utils.cache import patch_vary_headers

from approvals import access, attempts, catalogue, zones
from approvals.capabilities import Capability
from approvals.htmx import HtmxHttpRequest, SeeOther
from approvals.views import refusals
from durable.errors import NotFound
from durable.text import mend

_LOOKS = ("GET", "HEAD")
#: What each door lets through, so that another one knows whether there is a page to lead to.
_METHODS: dict[Callable[..., object], tuple[str, ...]] = {}


class SignedIn(HtmxHttpRequest):
    """A request of somebody who has signed in."""

    user: User


class View(Protocol):
    """A view behind a door."""

    def __call__(self, request: SignedIn, *args: Any, **kwargs: Any) -> HttpResponse: ...


def door(*methods: str, needs: Capability | None = None) -> Callable[[View], Callable[..., HttpResponse]]:
    """Let a request through to a view: these methods, signed-in people, and those with the right, where one is named.

    Without its right an address is 403, and says which one is missing. Single objects name no right here: their getter
    asks for it before it looks, so that a 404 tells nobody anything. Whatever is refused to somebody who would have
    changed something is logged.
    """
    allowed = (*methods, "HEAD") if "GET" in methods else methods

    def wrap(view: View) -> Callable[..., HttpResponse]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method not in allowed:
                return _elsewhere(request, allowed)
            if not isinstance(request.user, User):
                return refusals.stranger(request)
            if needs is not None:
                access.check(request.user, needs)
            if any(isinstance(value, str) and mend(value) != value for value in kwargs.values()):
                raise Http404("no such address")  # no database could hold it
            catalogue.load()
            try:
                with zones.reading(request):
                    answer = view(cast(SignedIn, request), *args, **kwargs)
            except NotFound as error:
                if request.method not in _LOOKS:
                    attempts.refused(request, str(error))
                raise Http404(str(error)) from None
            if request.method not in _LOOKS:
                attempts.left(request, answer.status_code)
            patch_vary_headers(answer, ["HX-Request"])  # one address brings a page, or a part of it
            return answer

        _METHODS[guarded] = allowed
        return guarded

    return wrap


def _elsewhere(request: HttpRequest, allowed: tuple[str, ...]) -> HttpResponse:
    """405; but whoever opens the address of an act, where a refused one had left them, is led to what it acts on."""
    path = request.path_info.rstrip("/")
    while request.method in ("GET", "HEAD") and path:
        path = path.rpartition("/")[0]
        if _answers_get(f"{path}/"):
            return SeeOther(f"{path}/")
    return HttpResponseNotAllowed(allowed)


def _answers_get(path: str) -> bool:
    try:
        return "GET" in _METHODS.get(resolve(path).func, ())
    except Resolver404:
        return False


def query_text(request: HttpRequest, name: str) -> str:
    """A text from the address, made such that a database can look for it. Empty where there is none."""
    return mend(request.GET.get(name, "")).strip()
