"""Polls of open pages: while nothing at all has changed in the database, one costs a single query, whatever its page.

PostgreSQL says it by itself: as long as the snapshot of a new query has the same name, it sees the same rows, all of
them, those about sessions, people and rights included. So an address that answered 204 to a poll ("you show this
already") answers it again without being asked, for the same browser, until the name changes.

A page does nothing for it: it puts `?seen=<version>` into the address that it polls, as with `htmx.page`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control

from approvals.htmx import NotModified, not_modified

#: Some of what pages show follows from the clock alone, such as "is a worker up?". A page that knows a deadline says
#: for how long its answer holds (`NotModified.good_for`).
_KEPT = timedelta(seconds=30)
#: Open pages that are remembered in a process; beyond them it begins anew.
_MOST = 5_000

Answer = Callable[[HttpRequest], HttpResponse]


class SpareUnchanged:
    """Middleware: answers a poll that was answered with 204 before the database last changed, without its view."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response
        self._unchanged: dict[bytes, tuple[str, float]] = {}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        page = _page(request)
        state = standing() if page else ""
        if not page or not state:
            return self.get_response(request)
        before, until = self._unchanged.get(page, ("", 0.0))
        if before == state and time.monotonic() < until:
            return _again()
        # The state was read first: what changes while the view works has another name when the page asks again.
        asked_at = time.monotonic()
        answer = self.get_response(request)
        self._unchanged.pop(page, None)
        if isinstance(answer, NotModified):
            if len(self._unchanged) >= _MOST:
                self._unchanged.clear()
            kept = min(_KEPT, answer.good_for) if answer.good_for is not None else _KEPT
            self._unchanged[page] = (state, asked_at + kept.total_seconds())
        return answer


def snapshot() -> str:
    """Name what a query sees now: equal names, equal rows in every table. Empty where the database is away."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_snapshot()::text")
            return str(cursor.fetchone()[0])
    except (OperationalError, InterfaceError):
        return ""


def standing() -> str:
    """The same, but empty within a transaction: its own changes don't show in the name. Only a test polls in one."""
    return "" if connection.in_atomic_block else snapshot()


def is_poll(request: HttpRequest) -> bool:
    """Whether an open page asks by itself, and no person has done anything."""
    headers = request.headers
    asks = request.method == "GET" and headers.get("HX-Request") == "true" and "seen" in request.GET
    return asks and "HX-Boosted" not in headers and "HX-History-Restore-Request" not in headers


def _page(request: HttpRequest) -> bytes:
    """Which open page of which browser polls; empty for every other request."""
    session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    if not session or not is_poll(request):
        return b""
    return hashlib.sha256(f"{session}\n{request.get_full_path()}".encode(errors="replace")).digest()


def _again() -> HttpResponse:
    answer = not_modified()
    patch_cache_control(answer, no_store=True, private=True)
    return answer
