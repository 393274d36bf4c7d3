"""What every answer passes: a plain page when the database is away, and no copies of what a signed-in person saw."""

from __future__ import annotations

from collections.abc import Callable

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control

Answer = Callable[[HttpRequest], HttpResponse]


class DatabaseAway:
    """503 and one plain sentence instead of a 500, wherever the database is found to be away."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            return self.get_response(request)
        except (OperationalError, InterfaceError) as error:
            return self.page(request, error)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Views' errors come here, before Django makes a 500 of them."""
        return self.page(request, error) if isinstance(error, (OperationalError, InterfaceError)) else None

    def page(self, request: HttpRequest, error: Exception) -> HttpResponse:
        """The page needs no database, no session and no user."""
        answer = render(None, "503.html", status=503)
        answer["Retry-After"] = "5"
        patch_cache_control(answer, no_store=True)
        return answer


class NoStore:
    """What a signed-in person saw is kept by no cache, the browser's own included."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self.get_response(request)
        if request.user.is_authenticated:
            patch_cache_control(answer, no_store=True, private=True)
        return answer
