"""Guessing passwords is slow: so many tries within a while, for one name and for one address. Counted before the
password is looked at, so that no number of tries at the same moment passes.

Nobody is locked out for ever: a while ends by itself. Nor by others: a browser in which the person has signed in before
bears a signed cookie, and has tries of its own, whatever anybody else does with their name or from their address. It is
no help for another name.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.models import User
from django.core import signing
from django.db import connection
from django.db.models import F
from django.http import HttpRequest, HttpResponse

from approvals import address
from approvals.models import SignInTry
from durable.digest import keyed_hash
from durable.models.fields import Clock
from durable.text import mend

#: So many tries are looked at within a WHILE: for one name from browsers that it is new to, for one name in a browser
#: that knows it, and from one address, which many people may share, in browsers that don't know the name.
NAME, KNOWN, ADDRESS = 10, 10, 60
WHILE = timedelta(minutes=15)
_REMEMBERED = timedelta(days=180)
_SALT = "interlock.known-browser"
#: Who has one address of the new kind has as many as they like: their network counts.
_OWN_NETWORK = 64
_FIELD = UsernameField(max_length=User._meta.get_field("username").max_length)

_COUNT = """
INSERT INTO approvals_signintry AS one (key, until, tries) VALUES (%(key)s, clock_timestamp() + %(while)s::interval, 1)
ON CONFLICT (key) DO UPDATE SET
    tries = CASE WHEN one.until <= clock_timestamp() THEN 1 ELSE one.tries + 1 END,
    until = CASE WHEN one.until <= clock_timestamp() THEN clock_timestamp() + %(while)s::interval ELSE one.until END
RETURNING tries, until - clock_timestamp()
"""


def take(request: HttpRequest, name: str) -> timedelta | None:
    """Count a try; returns how long to wait where it is one too many, and its password is not to be looked at."""
    pauses = [_count(key, most) for key, most in _keys(request, name)]
    return max((pause for pause in pauses if pause is not None), default=None)


def succeeded(request: HttpRequest, name: str) -> None:
    """The password was right: the name's tries begin anew, and those of the address are one fewer."""
    (own, _), *places = _keys(request, name)
    SignInTry.objects.filter(key=own).delete()
    for place, _ in places:
        SignInTry.objects.filter(key=place).update(tries=F("tries") - 1)


def remember(answer: HttpResponse, person: User) -> None:
    """Let this browser be one in which the person has signed in."""
    answer.set_cookie(
        settings.KNOWN_COOKIE_NAME,
        signing.dumps(person.get_username(), salt=_SALT),
        max_age=_REMEMBERED,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def last_here(request: HttpRequest) -> str:
    """Who signed in in this browser last, by name; empty where it knows nobody."""
    return _known(request.COOKIES.get(settings.KNOWN_COOKIE_NAME, ""))


def forget_old() -> None:
    """Delete what is over."""
    SignInTry.objects.filter(until__lte=Clock()).delete()


def meant(name: str) -> str:
    """The name that is meant, as signing in reads it: however it is typed, in wide letters or with spaces around it."""
    return str(_FIELD.to_python(mend(name)))


def _keys(request: HttpRequest, name: str) -> list[tuple[str, int]]:
    cookie = request.COOKIES.get(settings.KNOWN_COOKIE_NAME, "")
    plain = meant(name).casefold()
    if cookie and _known(cookie).casefold() == plain:
        return [(f"known:{hashlib.sha256(cookie.encode(errors='replace')).hexdigest()[:32]}", KNOWN)]
    return [(f"name:{_hash(plain)}", NAME), (f"address:{_hash(_place(address.of(request)))}", ADDRESS)]


def _place(told: str) -> str:
    """Where a try came from, as far as one may choose: an address, or the network that somebody has whole."""
    try:
        at = ip_address(told)
    except ValueError:
        return told or "none"
    if isinstance(at, IPv6Address) and at.ipv4_mapped is None:
        return str(ip_network((at, _OWN_NETWORK), strict=False))
    return str(at)


def _known(cookie: str) -> str:
    try:
        return str(signing.loads(cookie, salt=_SALT, max_age=_REMEMBERED))
    except signing.BadSignature:
        return ""


def _hash(text: str) -> str:
    return keyed_hash("sign-in", text, settings.INTERLOCK_HASH_KEY)[:32]


def _count(key: str, most: int) -> timedelta | None:
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"key": key, "while": f"{WHILE.total_seconds():.0f} seconds"})
        tries, left = cursor.fetchone()
    return left if tries > most else None
