"""What every answer passes: plain pages when the database is away or a request can't be read, and no copies of what a
signed-in person saw.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control

Answer = Callable[[HttpRequest], HttpResponse]
AWAY = (OperationalError, InterfaceError)


class DatabaseAway:
    """503 and one plain sentence instead of a 500, where a view finds the database away."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Views' errors come here, before Django makes a 500 of them."""
        return away(request) if isinstance(error, AWAY) else None


class NoStore:
    """What a signed-in person saw is kept by no cache, the browser's own included.

    The cookie decides, not the user: a page that needs no database must not ask it who is there.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self.get_response(request)
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            patch_cache_control(answer, no_store=True, private=True)
        return answer


def away(request: HttpRequest) -> HttpResponse:
    """The page needs no database, no session and no user; of the request it reads the theme's cookie."""
    answer = render(None, "503.html", {"request": request}, status=503)
    answer["Retry-After"] = "5"
    patch_cache_control(answer, no_store=True)
    return answer


def failed(request: HttpRequest) -> HttpResponse:
    """Django's last resort (`handler500`). A session that cannot be saved ends here too: then it is 503, not 500."""
    if isinstance(sys.exc_info()[1], AWAY):
        return away(request)
    return render(None, "500.html", {"request": request}, status=500)


def unreadable(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """What can't be read (Django's `handler400`): 413 for too much at once, with how much may be sent, else 400."""
    limits = {
        RequestDataTooBig: f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 2**20} MB",
        TooManyFieldsSent: f"{settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} fields",
    }
    most = next((words for kind, words in limits.items() if isinstance(exception, kind)), "")
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE if most else HTTPStatus.BAD_REQUEST
    return render(None, "400.html", {"request": request, "most": most}, status=status)
