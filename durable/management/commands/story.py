"""`manage.py story`: a crash at the worst moment, played on real processes. The door to `proof`."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = (
        "Kill a worker in the middle of a refund, let another one resume, and show that the money moved once."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Ends the process with 1 if a number is off."""
        from proof.story import tell

        sys.exit(tell(self.stdout.write))
