"""Sign-ins, in the log of acts: who came in and went out, and who could not. Django's signals say so, whatever page
asks.

Of a name that nobody bears the log keeps a keyed hash alone: what is typed there by mistake may be a password.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.http import HttpRequest

from approvals import access, attempts, idle
from approvals.attempts import Attempt
from durable import acts
from durable.clock import db_now
from durable.digest import keyed_hash
from durable.states import ActKind
from durable.text import mend

#: In the session: how and when its bearer has signed in.
_METHOD, _AT = "method", "signed_in_at"
_BY_PASSWORD = f"{ModelBackend.__module__}.{ModelBackend.__qualname__}"


def connect() -> None:
    """Have them logged, in this process."""
    user_logged_in.connect(_signed_in, dispatch_uid="approvals.signed_in")
    user_logged_out.connect(_signed_out, dispatch_uid="approvals.signed_out")
    user_login_failed.connect(_refused, dispatch_uid="approvals.sign_in_refused")


def proven(session: SessionBase) -> tuple[str, datetime | None]:
    """How whoever has this session had proven who they are, and when. One that was begun before this was kept says that
    it is a session, and no more.
    """
    method, at = session.get(_METHOD), session.get(_AT)
    return ("session", None) if method is None or at is None else (method, datetime.fromisoformat(at))


def _signed_in(sender: object, *, request: HttpRequest | None, user: User, **_: Any) -> None:
    if request is not None:
        idle.begin(request.session)
        request.session[_METHOD] = _method(request.session)
        request.session[_AT] = db_now().isoformat()
    _log(ActKind.SIGNED_IN, request, user)


def _method(session: SessionBase) -> str:
    """By what Django has let somebody in: a password, unless an installation has a way of its own."""
    backend = str(session.get(BACKEND_SESSION_KEY) or "")
    return "password" if backend == _BY_PASSWORD else backend.rpartition(".")[2] or "session"


def _signed_out(sender: object, *, request: HttpRequest | None, user: User | None, **_: Any) -> None:
    if isinstance(user, User):
        _log(ActKind.SIGNED_OUT, request, user)


def _log(kind: ActKind, request: HttpRequest | None, user: User) -> None:
    """In the transaction of the session's row, where whoever signs them in or out has opened one."""
    with transaction.atomic():
        acts.record(
            kind,
            actor=access.actor(user),
            about=acts.person(user.pk),
            body=_proof(request) if kind is ActKind.SIGNED_IN else {},
            reason=attempts.came_from(request),
        )


def _proof(request: HttpRequest | None) -> dict[str, str]:
    return {} if request is None else {"authenticated": proven(request.session)[0]}


def _refused(
    sender: object, *, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    refused(request, str(credentials.get("username") or ""))


def refused(request: HttpRequest | None, typed: str, why: str = "") -> None:
    """Log a sign-in that was refused; `why` where that was before anybody looked at the password."""
    name = mend(typed)
    person = User.objects.filter(username=name).first()
    where = attempts.source_of(request)
    if person is not None:
        body: dict[str, str] = {
            "name": person.username,
            "why": why or ("wrong password" if person.is_active else "switched off"),
        }
    else:
        body = {
            "why": why or "no such person",
            "name_hash": keyed_hash("sign-in", name, settings.INTERLOCK_HASH_KEY),
        }
    attempts.keep(
        Attempt(
            ActKind.SIGN_IN_REFUSED,
            acts.STRANGER,
            acts.STRANGERS if person is None else acts.person(person.pk),
            where,
            body,
        ),
        words=attempts.came_from(request),
        repeats=True,
    )
