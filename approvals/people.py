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
    """Create the people of the demonstration, or bring them back to what they were. May run again at will.

    No transaction spans it: hashing takes long, and the server ends a transaction that rests.
    """
    for person in DEMO_PEOPLE:
        user, made = User.objects.update_or_create(
            username=person.username,
            defaults={
                "first_name": person.first_name,
                "last_name": person.last_name,
                "email": f"{person.username}@example.com",
                "is_active": True,
            },
        )
        # A new hash ends every session of the person: only where the password has become another. One who has just
        # been made has none, which takes as long to find out as to hash one.
        if made or not user.check_password(password):
            user.set_password(password)
            user.save(update_fields=["password"])
        user.groups.set([Group.objects.get(name=person.role)])
    return DEMO_PEOPLE
