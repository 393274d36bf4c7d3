"""`manage.py person`: who there is; `manage.py person NAME …`: make somebody, give and take roles, let in and out.

A refusal prints its reason and exits with 2; then nothing was written. Every change stands in the log of acts.
"""

from __future__ import annotations

import getpass
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from approvals import staff
from approvals.capabilities import ROLES
from approvals.staff import Change, Person
from durable.errors import InterlockError
from durable.text import mend

REFUSED = 2


class Command(BaseCommand):
    help = "List people, make somebody, give and take roles, let people in and out."

    def add_arguments(self, parser: CommandParser) -> None:
        roles = ", ".join(ROLES)
        parser.add_argument(
            "name", nargs="?", help="the name with which they sign in; without it all are listed"
        )
        parser.add_argument("--new", action="store_true", help="make them; a password is set afterwards")
        parser.add_argument(
            "--role", action="append", default=[], help=f"give this role: {roles}; may be repeated"
        )
        parser.add_argument("--take", action="append", default=[], metavar="ROLE", help="take this role away")
        way = parser.add_mutually_exclusive_group()
        way.add_argument("--off", action="store_true", help="let them in no more; their sign-ins end at once")
        way.add_argument("--on", action="store_true", help="let them in again")
        parser.add_argument("--email", help="their address")
        parser.add_argument("--full-name", help="their name, as pages call them")
        parser.add_argument("--reason", default="", help="why; kept in the log, sealed")
        parser.add_argument("--actor", help="who does this (default: the name of the user at this machine)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the person as they are now, or the reason for a refusal."""
        if options["name"] is None:
            for one in staff.people():
                self.stdout.write(_line(one))
            return
        active = True if options["on"] else False if options["off"] else None
        wanted = Change(
            options["role"], options["take"], active, options["new"], options["email"], options["full_name"]
        )
        try:
            person = staff.change(
                options["name"],
                wanted,
                actor=options["actor"] or getpass.getuser(),
                reason=options["reason"],
            )
        except InterlockError as refusal:
            self.stderr.write(f"{refusal}. Nothing was changed.")
            sys.exit(REFUSED)
        self.stdout.write(_line(person))
        if options["new"]:
            self.stdout.write(f"Now set a password: manage.py changepassword {person.name}")


def _line(one: Person) -> str:
    seen = f"last signed in {one.last_seen:%Y-%m-%d %H:%M} UTC" if one.last_seen else "never signed in"
    roles = ", ".join(one.roles) or "no role"
    named = f" ({mend(one.full_name)})" if one.full_name else ""
    return f"{one.name}{named}: {roles}; {'' if one.active else 'switched off; '}{seen}"
