"""`manage.py start AGENT --input JSON`: start a run, and print its id.

A refusal prints `field: rule` and exits with 2; then nothing was written. The same key twice starts one run.
"""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from durable import runs
from durable.errors import Conflict, Invalid
from durable.text import MAX_BYTES, load_json

#: What a shell knows as wrong usage.
REFUSED = 2


class Command(BaseCommand):
    help = "Start a run of an agent and print its id."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("agent", help="the agent's name, such as RefundDesk")
        parser.add_argument(
            "--input",
            default="{}",
            help="the run's input as JSON; @FILE reads it from a file, - from standard input",
        )
        parser.add_argument(
            "--key", help="a key of your own: the same key again is the same run, not another one"
        )
        parser.add_argument("--actor", help="who starts it (default: the name of the user at this machine)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the run's id, or the reason for a refusal."""
        try:
            run = runs.start(
                options["agent"],
                load_json(read_json(options["input"]), "input"),
                actor=options["actor"] if options["actor"] is not None else getpass.getuser(),
                key=options["key"],
            )
        except (Invalid, Conflict) as refusal:
            self.stderr.write(str(refusal))
            sys.exit(REFUSED)
        self.stdout.write(run.ref)


def read_json(given: str) -> bytes:
    """The bytes of the input, and no more of them than may be one: a huge file is refused without being read."""
    if given == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    if not given.startswith("@"):
        return given.encode("utf-8", "surrogateescape")
    try:
        with Path(given[1:]).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Invalid("input", f"the file {given[1:]} can't be read: {error.strerror}") from None
