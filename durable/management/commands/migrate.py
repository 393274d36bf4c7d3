"""Django's `migrate`, as the tables' owner; afterwards the database is told whose signed cuts let events go, and the
application's role gets its rights on what is there now.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import connections, transaction

from durable.grants import grant_application, name_keys


class Command(migrate.Command):
    help = "Bring the tables up to date as their owner (DATABASE_OWNER_URL), then name sign keys and grant rights."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database="owner")

    def handle(self, *args: Any, **options: Any) -> None:
        """Where one role is both owner and application there is nothing to grant."""
        super().handle(*args, **options)
        owner, role = connections["owner"], connections["default"].settings_dict["USER"]
        if options["database"] == "owner":
            with transaction.atomic(using="owner"):
                name_keys(owner)
        if options["database"] == "owner" and role != owner.settings_dict["USER"]:
            with transaction.atomic(using="owner"):
                grant_application(owner, role)
