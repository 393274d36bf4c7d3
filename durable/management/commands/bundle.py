"""`manage.py bundle FILE --run REF --effect KEY`: events with all that proves them, for strangers to check.

No payload and no word of a person goes in, only digests of them. What is in it: README.txt of the bundle.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from durable.management.commands.start import REFUSED
from durable.roots import bundle
from durable.roots.reading import snapshot


class Command(BaseCommand):
    help = "Write the events of runs and effects with their proofs, roots, public key and a small verifier to a ZIP."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="where to; it must not exist")
        parser.add_argument("--run", action="append", default=[], help="a run's id; may be given again")
        parser.add_argument(
            "--effect", action="append", default=[], help="an effect's key; may be given again"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints what went in. Exit code 2 where the file exists, or there is no such event: then none is left."""
        file: Path = options["file"]
        if not options["run"] and not options["effect"]:
            self.stderr.write("say whose events: --run REF or --effect KEY, each as often as you like")
            sys.exit(REFUSED)
        try:
            with file.open("xb") as out, snapshot() as wire:
                found = bundle.write(out, wire, runs=options["run"], effects=options["effect"])
        except FileExistsError:
            self.stderr.write(f"{file} exists: name another file")
            sys.exit(REFUSED)
        except OSError as error:
            self.stderr.write(f"{file} can't be written ({error.strerror}): name another file")
            sys.exit(REFUSED)
        if not found.events:
            file.unlink()
            self.stderr.write("no event of such a run or effect; nothing was written")
            sys.exit(REFUSED)
        self.stdout.write(f"{found.events} events, {found.open} of them in no root yet, in {file}")
