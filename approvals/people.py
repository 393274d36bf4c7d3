"""People of the demonstration: at least one for each role, with one known password. Only demo mode makes them."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import Group, User

from approvals.capabilities import ADMIN, AUDITOR, OPERATOR, REVIEWER

#: Known to everybody who has read this: it must never open anything but a demonstration.
DEMO_PASSWORD = "interlock-demo"


@dataclass(frozen=True, slots=True)
class Person:
    """A person of the demonstration, by the name with which they sign in."""

    username: str
    first_name: str
    last_name: str
    role: str


DEMO_PEOPLE = (
    Person("marta", "Marta", "Oliveira", REVIEWER),
    Person("jonas", "Jonas", "Okafor", REVIEWER),
    Person("sven", "Sven", "Adler", OPERATOR),
    Person("rita", "Rita", "Sandoval", AUDITOR),
    Person("ada", "Ada", "Lindqvist", ADMIN),
    # An erasure takes two of them.
    Person("noor", "Noor", "Haddad", ADMIN),
)


def demo_people(password: str = DEMO_PASSWORD) -> tuple[Person, ...]:
    """Create the people of the demonstration that there are not yet. One who is there stays as people have left them:
    with their roles, their own password, or switched off. May run again at will.

    No transaction spans it: hashing takes long, and the server ends a transaction that rests.
    """
    for person in DEMO_PEOPLE:
        if User.objects.filter(username=person.username).exists():
            continue
        user = User(
            username=person.username,
            first_name=person.first_name,
            last_name=person.last_name,
            email=f"{person.username}@example.com",
        )
        user.set_password(password)
        user.save()
        user.groups.set([Group.objects.get(name=person.role)])
    return DEMO_PEOPLE


def let_in(password: str = DEMO_PASSWORD) -> list[User]:
    """Return those of the demonstration whom this password lets in now."""
    names = [person.username for person in DEMO_PEOPLE]
    found = User.objects.filter(username__in=names, is_active=True).order_by("pk")
    return [user for user in found if user.check_password(password)]
