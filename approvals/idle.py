"""A sign-in ends: some hours after it was made, and once nobody has used it for a while. What a page asks by itself is
no use of it, so a page that stands open keeps nobody signed in.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from approvals import access, polls
from durable import acts
from durable.middleware import AWAY, away
from durable.states import ActKind

SINCE, USED = "since", "used"
#: Addresses that know nobody.
_FOR_MACHINES = ("/healthz", "/readyz")
#: More often than this its use is not written down, in seconds.
_EVERY = 60


def begin(session: SessionBase) -> None:
    """Somebody has signed in."""
    session[SINCE] = session[USED] = int(time.time())


class EndSignIns:
    """Middleware: ends a sign-in that is over before anything is done by it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Whether this process lives must not depend on the database, whatever a cookie says.
        if settings.SESSION_COOKIE_NAME in request.COOKIES and request.path not in _FOR_MACHINES:
            try:
                _look(request)
            except AWAY:
                return away(request)
        return self.get_response(request)


def _look(request: HttpRequest) -> None:
    session = request.session
    if "_auth_user_id" not in session:
        return
    now = int(time.time())
    since, used = (int(session.get(name, now)) for name in (SINCE, USED))
    if now - used > settings.SESSION_IDLE_SECONDS.total_seconds():
        _end(request, "not used for a while")
    elif now - since > settings.SESSION_COOKIE_AGE:
        _end(request, "too long ago")
    elif SINCE not in session or (now - used > _EVERY and not polls.is_poll(request)):
        session[SINCE], session[USED] = since, now


def _end(request: HttpRequest, why: str) -> None:
    person = get_user(request)
    with transaction.atomic():
        if isinstance(person, User):
            acts.record(
                ActKind.SIGNED_OUT,
                actor=access.actor(person),
                about=acts.person(person.pk),
                body={"why": why},
            )
        request.session.flush()
