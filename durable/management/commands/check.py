"""`manage.py check`: Django's own, which looks at the agents' modules as well."""

from __future__ import annotations

from typing import Any

from django.core.checks.registry import registry
from django.core.management.commands import check

from durable.checks import agents


class Command(check.Command):
    """Every other command starts with the checks too, and must start while an agent's module is broken."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Check."""
        registry.register(agents)
        try:
            super().handle(*args, **options)
        finally:
            registry.registered_checks.discard(agents)
