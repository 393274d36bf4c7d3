"""People and their roles, as an admin at the machine sets them: each change one transaction, in the log of acts by the
database itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import Group, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from approvals.capabilities import ADMIN, ROLES
from durable import acts
from durable.errors import Conflict, Invalid, NotFound
from durable.text import check_text

_LONGEST = 150


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of a person: made, where `new`; roles given and taken; let in (True) or out (False)."""

    give: Sequence[str] = ()
    take: Sequence[str] = ()
    active: bool | None = None
    new: bool = False
    email: str | None = None
    full_name: str | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """One line of the list."""

    name: str
    full_name: str
    roles: tuple[str, ...]
    active: bool
    last_seen: datetime | None


def people() -> list[Person]:
    """Everybody, by name."""
    return [_line(one) for one in User.objects.prefetch_related("groups").order_by("username")]


def change(name: str, wanted: Change, *, actor: str, reason: str) -> Person:
    """Change one person, or make them. Somebody new has no password, and does not get in before one is set.

    Raises Invalid (a role or a name that is none, no reason), NotFound (no such person), or Conflict: somebody new
    bears a name that is taken, or nobody would be left who may give roles.
    """
    _check(name, wanted, reason)
    with acts.acting(actor, reason):
        person = User.objects.select_for_update().filter(username=name).first()
        if person is None and not wanted.new:
            raise NotFound(f"nobody is called {name}; --new makes somebody new")
        if person is not None and wanted.new:
            raise Conflict(f"{name} is there already; leave --new out to change them")
        person = person or User.objects.create_user(name)
        led = person.is_active and person.groups.filter(name=ADMIN).exists()
        _write(person, wanted)
        person.groups.add(*Group.objects.filter(name__in=wanted.give))
        person.groups.remove(*Group.objects.filter(name__in=wanted.take))
        if led and not User.objects.filter(groups__name=ADMIN, is_active=True).exists():
            raise Conflict(f"{name} is the last admin; give that role to somebody else first")
        return _line(person)


def _check(name: str, wanted: Change, reason: str) -> None:
    for role in (*wanted.give, *wanted.take):
        if role not in ROLES:
            raise Invalid("role", f"must be one of {', '.join(ROLES)}; it is {role!r}")
    if twice := set(wanted.give) & set(wanted.take):
        raise Invalid("role", f"can't be both given and taken: {', '.join(sorted(twice))}")
    if not reason.strip():
        raise Invalid("reason", "say why; it is kept in the log")
    check_text(reason, "reason")
    if not wanted.new:
        return
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        raise Invalid("name", "must be letters, digits and @ . + - _ only") from None
    if len(name) > _LONGEST:
        raise Invalid("name", f"must be at most {_LONGEST} characters")
    alike = list(User.objects.filter(username__iexact=name).values_list("username", flat=True))
    if alike and name not in alike:
        raise Conflict(
            f"somebody is called {alike[0]} already, which is the same but for capital letters; take another name, "
            f"or change {alike[0]} without --new"
        )


def _write(person: User, wanted: Change) -> None:
    if wanted.active is not None:
        person.is_active = wanted.active
    if wanted.email is not None:
        person.email = wanted.email
    if wanted.full_name is not None:
        person.first_name, _, person.last_name = wanted.full_name.strip().partition(" ")
    person.save()


def _line(person: User) -> Person:
    roles = {group.name for group in person.groups.all()}
    known = tuple(role for role in ROLES if role in roles)
    return Person(person.username, person.get_full_name(), known, person.is_active, person.last_login)
