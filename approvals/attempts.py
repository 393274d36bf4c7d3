"""Refused attempts, in the log of acts: who tried what, where, and which right was missing.

An attacker, or a page left open by somebody who has lost a right, must not fill the disk: the same attempt is listed
once an hour, a person's or an address's others ten a minute, those of all strangers together sixty. What is more is
counted, in one row for each of these, and the log is told the number once the while is over (`tell`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest
from django.urls import ResolverMatch

from approvals import access, address
from approvals.models import Tried
from durable import acts
from durable.beats import committing
from durable.digest import canonical, digest, keyed_hash
from durable.models.fields import Clock
from durable.states import ActKind
from durable.text import mend

#: So many are listed within a while: of one person or address, and of all strangers together.
EACH, STRANGERS = 10, 60
WHILE = "1 minute"
#: The same attempt is listed once within this; how often it was made follows at its end.
AGAIN = "1 hour"
#: Whiles that are over, of which the log is told at once.
_TOLD = 200
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
#: Ids as addresses have them; whatever else stands there is nobody's id, and might be anything.
_RUN = re.compile(r"run-[\w-]{1,60}(:[\w.@#~:-]{1,200})?", re.ASCII)
_SHOWN = 200

_SAME = """
UPDATE approvals_tried SET seen = seen + 1 WHERE key = %(key)s AND until > clock_timestamp() RETURNING seen
"""
_COUNT = """
INSERT INTO approvals_tried (key, until, listed, seen, actor, about, concerns, body)
VALUES (
    %(key)s, date_bin(%(while)s::interval, clock_timestamp(), 'epoch') + %(while)s::interval, %(listed)s, 1, %(actor)s,
    %(about)s, %(concerns)s, %(body)s::jsonb
)
ON CONFLICT (key, until) DO UPDATE SET seen = approvals_tried.seen + 1 RETURNING seen
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One refused attempt: by whom, whose log it stands in, which object it was about, and what bounds it (`source`: a
    person's chain, or the keyed hash of an address)."""

    kind: ActKind
    actor: str
    about: str
    source: str
    body: Mapping[str, Any]
    concerns: str = ""


#: On a request: why it is refused, in a sentence, and whether that is on record.
_WHY, _KEPT = "_refused_because", "_refusal_is_on_record"


def because(request: HttpRequest, why: str) -> None:
    """Remember why a request is refused, for `left`."""
    setattr(request, _WHY, why)


def on_record(request: HttpRequest) -> None:
    """A refusal stands somewhere in the log already, or is none."""
    setattr(request, _KEPT, True)


def left(request: HttpRequest, status: int) -> None:
    """Log a refusal that is not on record yet: every act that is answered with 403 or 409 stands in the log."""
    refuses = status in (HTTPStatus.FORBIDDEN, HTTPStatus.CONFLICT)
    if refuses and not getattr(request, _KEPT, False):
        refused(request, getattr(request, _WHY, ""))


def refused(request: HttpRequest, why: str, right: str = "") -> None:
    """Log what was refused to whoever asks; `why` is the product's own sentence, `right` the one that was missing."""
    on_record(request)
    user = request.user if isinstance(request.user, User) else None
    match = request.resolver_match
    body = {
        "address": (match.url_name or "") if match else "",
        "method": request.method if request.method in _METHODS else "other",
        "why": why[:_SHOWN],
    }
    keep(
        Attempt(
            ActKind.REFUSED,
            access.actor(user) if user else acts.STRANGER,
            acts.person(user.pk) if user else acts.STRANGERS,
            acts.person(user.pk) if user else source_of(request),
            body | ({"right": right} if right else {}),
            _object(match) if match else "",
        ),
        repeats=False,
    )


def source_of(request: HttpRequest | None) -> str:
    """The address that a request came from, as a keyed hash: equal for equal addresses, and no address."""
    found = address.of(request) if request is not None else ""
    return keyed_hash("address", found or "none", settings.INTERLOCK_HASH_KEY)[:32]


def came_from(request: HttpRequest | None) -> str:
    """Where a request came from, in words that are only ever kept sealed."""
    if request is None:
        return ""
    found, browser = address.of(request), request.headers.get("User-Agent", "")
    return mend(", ".join(filter(None, [f"from {found}" if found else "", browser[:_SHOWN]])))


def keep(attempt: Attempt, *, words: str = "", repeats: bool) -> None:
    """Log an attempt, or count it where that would be too many. `repeats`: the same once more is another one."""
    same = "" if repeats else f"same:{digest([attempt.actor, attempt.about, attempt.concerns, attempt.body])}"
    with committing("refusal"):
        if same and _count(_SAME, attempt, same):
            return
        if (
            attempt.actor == acts.STRANGER
            and _count(_COUNT, _of_all(attempt), "strangers", STRANGERS) > STRANGERS
        ):
            return
        if _count(_COUNT, _of_source(attempt), f"each:{attempt.source}:{attempt.about}", EACH) > EACH:
            return
        if same:
            _count(_COUNT, attempt, same, 1, AGAIN)
        acts.record(
            attempt.kind,
            actor=attempt.actor,
            about=attempt.about,
            concerns=attempt.concerns,
            body=attempt.body,
            reason=words,
        )


def tell() -> int:
    """Write into the log what was only counted in whiles that are over; returns of how many."""
    with committing("refusal"):
        over = Tried.objects.filter(until__lte=Clock()).order_by("until").select_for_update(skip_locked=True)
        found = list(over[:_TOLD])
        for one in found:
            if one.seen > one.listed:
                acts.record(
                    ActKind.MORE_REFUSED,
                    actor=one.actor,
                    about=one.about,
                    concerns=one.concerns,
                    body={**one.body, "count": one.seen - one.listed, "until": one.until},
                )
        Tried.objects.filter(pk__in=[one.pk for one in found]).delete()
    return len(found)


def _of_all(attempt: Attempt) -> Attempt:
    return Attempt(attempt.kind, acts.STRANGER, acts.STRANGERS, "", {"of": "all strangers"})


def _of_source(attempt: Attempt) -> Attempt:
    return Attempt(attempt.kind, attempt.actor, attempt.about, "", {"source": attempt.source})


def _count(statement: str, attempt: Attempt, key: str, listed: int = 1, within: str = "") -> int:
    """How often it was tried by now; 0 where nothing was counted."""
    values: dict[str, Any] = {"key": key, "listed": listed, "actor": attempt.actor, "about": attempt.about}
    values |= {
        "concerns": attempt.concerns,
        "body": canonical(attempt.body).decode(),
        "while": within or WHILE,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row = cursor.fetchone()
    return 0 if row is None else int(row[0])


def _object(match: ResolverMatch) -> str:
    """Which object an address is about, as the log names it; empty for none, and for what is no id."""
    given, of_bulk = match.kwargs, str(match.url_name).startswith("bulk-")
    named = str(given.get("ref") or given.get("key") or "")
    if _RUN.fullmatch(named):
        return named
    if "gate_id" in given:
        return acts.about("gate", given["gate_id"])
    return acts.about("bulk", given["pk"]) if of_bulk and "pk" in given else ""
