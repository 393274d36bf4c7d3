"""`manage.py prove`: nothing twice, nothing lost, shown on this machine. The door to `proof`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser


class Command(BaseCommand):
    help = (
        "Try to break the protocol, and print what was tried and found. Without options every part in its short form. "
        "Each part brings services of its own; no database that the environment names is touched."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", action="store_true", help="the protocol as a state graph")
        parser.add_argument(
            "--points", action="store_true", help="every single crash point, and pairs of them"
        )
        parser.add_argument(
            "--schedules", type=int, metavar="N", help="N random crash schedules (short form: 2,000)"
        )
        parser.add_argument("--seed", type=int, default=1, metavar="S", help="of all that is random")
        parser.add_argument(
            "--races", action="store_true", help="who comes first, 100 rounds each; and their controls"
        )
        parser.add_argument(
            "--zombies", action="store_true", help="50 workers that wake up after their lease"
        )
        parser.add_argument(
            "--promptness", action="store_true", help="how soon: a resume, a start, a stop, 20 of each"
        )
        parser.add_argument("--database", action="store_true", help="20 kills of the whole database server")
        parser.add_argument(
            "--tampering",
            action="store_true",
            help="a superuser rewrites the ledger, 20 times each of 8 ways",
        )
        parser.add_argument(
            "--chaos", type=float, metavar="SECONDS", help="all at once (short form: 120 seconds)"
        )
        parser.add_argument(
            "--long",
            action="store_true",
            help="pairs of crash points for all classes of vendor, 500 rounds of each race",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Ends the process with 1 on any violation, and where a part has tried nothing."""
        from proof.parts import PARTS, Extent
        from proof.prove import prove

        named = [name for name in PARTS if options.get(name) not in (None, False)]
        extent = Extent(seed=options["seed"], long=options["long"])
        given = {name: options[name] for name in ("schedules", "chaos") if options[name] is not None}
        if options["long"]:
            given["rounds"] = 500
        sys.exit(prove(named or list(PARTS), replace(extent, **given), self.stdout.write))
