"""`manage.py recover --restored --reason TEXT`: go through everything after a restore from a backup.

Workers and sweepers must not run before it has been called. It prints what it doubts, and what vendors have done since
the backup for runs that are gone with it; where there is any of that, or a vendor could not be asked, nothing leaves
until somebody has looked and says `--go-on`. Exit code 0 where runs go on, 1 where they wait for that, 2 for a refusal.
"""

from __future__ import annotations

import getpass
import sys
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.dateparse import parse_datetime

from durable import restoring
from durable.errors import InterlockError, Invalid
from durable.management.commands.start import REFUSED

#: Runs do not go on yet.
STOPPED = 1


class Command(BaseCommand):
    help = "After a restore from a backup: doubt what may be forgotten, list what vendors know and the ledger does not."

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--restored", action="store_true", help="the database has come out of a backup")
        what.add_argument(
            "--go-on", action="store_true", help="what was listed has been looked at: let the runs go on"
        )
        parser.add_argument("--reason", required=True, help="why; it goes into the ledger")
        parser.add_argument("--actor", help="who acts (default: the name of the user at this machine)")
        parser.add_argument(
            "--since",
            help="the backup's moment, such as 2026-11-29T03:00:00Z (default: five minutes before the newest event)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints what was found, and ends the process with one of the three codes."""
        by = {"actor": options["actor"] or getpass.getuser(), "reason": options["reason"]}
        try:
            if options["go_on"]:
                self.stdout.write(f"{restoring.go_on(**by)} runs go on.")
                return
            report = restoring.restored(**by, since=_moment(options["since"]))
        except InterlockError as refusal:
            self.stderr.write(str(refusal))
            sys.exit(REFUSED)
        for line in lines(report):
            self.stdout.write(line)
        sys.exit(STOPPED if report.stopped else 0)


def _moment(given: str | None) -> datetime | None:
    if given is None:
        return None
    try:
        found = parse_datetime(given)
    except ValueError:
        found = None
    if found is None:
        raise Invalid("since", "must be a moment such as 2026-11-29T03:00:00Z")
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def lines(report: restoring.Report) -> list[str]:
    """Return a report as lines for people."""
    since = report.recovery.since.astimezone(UTC)
    told = [
        f"Recovery epoch {report.recovery.pk}: the database knows what happened until {since:%Y-%m-%d %H:%M:%S} UTC.",
        f"{report.runs} runs were on their way; {report.effects} of their effects may have been sent since. "
        "Each is looked up before anything is sent.",
    ]
    told += _table(
        "Effects that these runs have done and the ledger has not; they ask for them again:", report, True
    )
    told += _table("Effects of runs that were started after the backup and are gone:", report, False)
    told += [f"Could not be asked for its statement: {one}" for one in report.away]
    if report.stopped:
        told.append("Nothing leaves until you have looked at this: manage.py recover --go-on --reason …")
    return told


def _table(title: str, report: restoring.Report, known: bool) -> list[str]:
    rows = [one for one in report.unknown if one["run"] is known]
    cells = [
        (one["key"], one["vendor"], one["receipt"], f"{one['amount'] or ''} {one['currency'] or ''}".strip())
        for one in rows
    ]
    widths = [max((len(row[n]) for row in cells), default=0) for n in range(4)]
    told = ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
    return [title, *told] if told else []
