"""Whoever acts through a page is named to the database, which logs by itself what changes people, roles and rights."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse

from approvals import access
from durable import acts
from durable.middleware import AWAY, away

_LOOKS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class NameActor:
    """Middleware: for the time of a request that may change something, the connection bears the person's name."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method in _LOOKS:
            return self.get_response(request)
        with ExitStack() as named:
            try:
                if isinstance(request.user, User):
                    named.enter_context(acts.naming(access.actor(request.user)))
            except AWAY:
                return away(request)
            return self.get_response(request)
