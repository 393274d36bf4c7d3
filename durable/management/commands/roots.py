"""`manage.py roots`: make the roots that are due and see that anchors keep them; or print the public key.

Beat has it done every ROOT_SECONDS. Exit code 1 where an anchor failed, 2 where no root can be made here.
"""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from durable.management.commands.start import REFUSED
from durable.roots import builder, keeping, signing
from durable.roots.horizon import OutOfOrder
from durable.roots.signing import NoKey


class Command(BaseCommand):
    help = "Make the signed roots over the ledger that are due, and have them kept outside."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--public-key",
            action="store_true",
            help="print the public key that belongs to INTERLOCK_SIGN_KEY",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints how many were made, and how far each anchor is."""
        try:
            if options["public_key"]:
                self.stdout.write(signing.public_key())
                return
            self.stdout.write(f"roots made: {builder.build()}")
        except (NoKey, OutOfOrder) as refusal:
            self.stderr.write(str(refusal))
            sys.exit(REFUSED)
        failed = keeping.keep()
        for name, progress in keeping.progress().items():
            trouble = f"; it fails: {progress.trouble}" if progress.trouble else ""
            self.stdout.write(f"{name} keeps them up to root {progress.kept}{trouble}")
        sys.exit(1 if failed else 0)
