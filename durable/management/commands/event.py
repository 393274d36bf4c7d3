"""`manage.py event RUN NAME --key KEY --body JSON`: hand an outside event to a run, from a shell or a script.

It is kept until a wait of that name takes it. The same key twice is one event. A refusal says why and exits with 2;
then nothing was written.
"""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from durable import waits
from durable.errors import InterlockError
from durable.management.commands.start import REFUSED, read_json
from durable.text import load_json


class Command(BaseCommand):
    help = "Hand an outside event to a run that waits for it, or will."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ref", help="the run's id")
        parser.add_argument("name", help="the event's name, as the step gives it to run.wait_for")
        parser.add_argument(
            "--key", required=True, help="the sender's id of this event: the same again changes nothing"
        )
        parser.add_argument(
            "--body", default="null", help="what the step gets, as JSON; @FILE, or - for standard input"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the run's id and whether the event is new to it, or the reason for a refusal."""
        ref, name = options["ref"], options["name"]
        try:
            body = load_json(read_json(options["body"]), "body")
            new = waits.deliver(ref, name, body, dedupe=options["key"])
        except InterlockError as refusal:
            self.stderr.write(str(refusal))
            sys.exit(REFUSED)
        self.stdout.write(f"{ref} has {name}" if new else f"{ref} had {name} already; nothing was changed")
