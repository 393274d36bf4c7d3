"""`manage.py demodata`: a database of a stated size, full of invented history. The door to `local.demodata`."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_datetime

_SIZES = ("runs", "effects", "gates")


class Command(BaseCommand):
    help = (
        "Fill an empty, migrated database with invented runs, effects, gates and conversations, for measuring. "
        "It refuses a database that holds anything. Works as the tables' owner, in one transaction."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--runs", type=int, default=0, metavar="N", help="so many runs")
        parser.add_argument("--effects", type=int, default=0, metavar="M", help="so many effects")
        parser.add_argument("--gates", type=int, default=0, metavar="G", help="so many gates that wait")
        parser.add_argument(
            "--years", type=float, default=1.0, metavar="Y", help="years of history (default 1)"
        )
        parser.add_argument("--seed", type=int, default=1, metavar="S", help="of all that is random but keys")
        parser.add_argument("--until", metavar="MOMENT", help="when the history ends (default: now)")
        parser.add_argument(
            "--processes",
            type=int,
            default=os.cpu_count() or 1,
            metavar="P",
            help="that tell the stories (default: one a processor)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Raises CommandError where the database is in use, or the size too small."""
        from local.demodata import load, report
        from local.demodata.cast import plan

        until = parse_datetime(options["until"]) if options["until"] else datetime.now(UTC)
        if until is None or until.utcoffset() is None:
            raise CommandError("--until must be a moment with a time zone, such as 2026-03-01T12:00:00Z")
        if not (options["runs"] or options["effects"]) or min(options[name] for name in _SIZES) < 0:
            raise CommandError(
                "say how large: --runs, --effects or both, as positive numbers; --gates beside them"
            )
        if not 0.05 <= options["years"] <= 50:
            raise CommandError("--years must be from 0.05 to 50")
        try:
            cast = plan(**{name: options[name] for name in _SIZES}, seed=options["seed"])
            order = load.Order(cast, options["seed"], options["years"], until, options["processes"])
            made = load.fill(order, self.stdout.write)
        except (ValueError, load.InUse) as error:
            raise CommandError(f"Nothing was changed: {error}") from error
        for line in report.lines(made):
            self.stdout.write(line)
