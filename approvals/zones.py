"""The reader's time zone: chosen by each person, kept with them, carried by their session; else the house's own.

It decides how moments are written and what days in a search mean, and nothing else: every moment is stored, compared
and decided upon in UTC, by the database's clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone

from approvals.models import Reader
from durable.errors import Invalid

_SESSION = "zone"
#: Areas of the database of zones; what stands outside of them are older names of the same.
_AREAS = ("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")


@cache
def known() -> tuple[str, ...]:
    """The zones to choose from, UTC first."""
    return ("UTC", *sorted(name for name in available_timezones() if name.partition("/")[0] in _AREAS))


def choose(request: HttpRequest, person: User, zone: str) -> None:
    """Keep a person's zone, from the next page on; empty is the house's. Raises Invalid for an unknown one."""
    if zone and zone not in known():
        raise Invalid("zone", "must be one of the list, such as Europe/Berlin")
    Reader.objects.update_or_create(person=person, defaults={"zone": zone})
    request.session[_SESSION] = zone


def signed_in(sender: object, *, request: HttpRequest | None, user: User, **_: Any) -> None:
    """Give a new session its person's zone, so that no page has to ask for it."""
    if request is not None and hasattr(request, "session"):
        zone = Reader.objects.filter(person=user).values_list("zone", flat=True).first()
        if zone:
            request.session[_SESSION] = zone


def own(request: HttpRequest) -> str:
    """The zone that the reader has chosen; empty where it is the house's."""
    zone = request.session.get(_SESSION, "")
    return zone if zone in known() else ""


@contextmanager
def reading(request: HttpRequest) -> Iterator[None]:
    """For a block, moments are written and days are meant as the reader has them."""
    zone = own(request)
    with timezone.override(ZoneInfo(zone) if zone else timezone.get_default_timezone()):
        yield


def offset(now: datetime) -> str:
    """How far the present zone is from UTC at a moment: `UTC+01:00`."""
    away = timezone.localtime(now).utcoffset() or timedelta()
    minutes = round(away.total_seconds() / 60)
    return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
