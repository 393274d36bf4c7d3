"""Django's `migrate`, as the tables' owner; afterwards the application's role gets its rights on what is there now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import connections, transaction

from durable.grants import grant_application


class Command(migrate.Command):
    help = "Bring the tables up to date as their owner (DATABASE_OWNER_URL), then grant the application its rights."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database="owner")

    def handle(self, *args: Any, **options: Any) -> None:
        """Where one role is both owner and application there is nothing to grant."""
        super().handle(*args, **options)
        owner, role = connections["owner"], connections["default"].settings_dict["USER"]
        if options["database"] == "owner" and role != owner.settings_dict["USER"]:
            with transaction.atomic(using="owner"):
                grant_application(owner, role)
