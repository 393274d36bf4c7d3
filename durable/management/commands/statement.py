"""`manage.py statement --from 2026-11-29 --to 2026-11-30`: hold vendors' accounts of a period against the ledger, now.

`--to` is the first moment that no longer counts. Without a period it is the last day, in UTC, that has settled: not
yesterday yet in the first hour after midnight. Prints what was found, a line for each kind and currency, also where
a worker came first and made it. Exit code 0
where all of it agrees or is explained, 1 where something is to be explained, 2 where a statement could not be made.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.dateparse import parse_date, parse_datetime

from durable import money, plan
from durable.errors import InterlockError, Invalid
from durable.management.commands.start import REFUSED
from durable.models import StatementRequest, Unexplained, VendorStatement
from durable.vendor_statements import requests
from durable.vendor_statements.accounts import Account, covered, named, uncovered

#: Something is to be explained.
DIFFERS = 1


class Command(BaseCommand):
    help = "Hold what vendors say that they did in a period against what the ledger says."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--from", dest="start", help="its beginning: a day or a moment, in UTC unless it says otherwise"
        )
        parser.add_argument("--to", dest="end", help="its end, which is not in it (default: a day later)")
        parser.add_argument("--vendor", help="this vendor's accounts alone")
        parser.add_argument("--actor", help="who asks (default: the name of the user at this machine)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints what was found, and ends the process with one of the three codes."""
        codes = []
        try:
            plan.agents()
            accounts = [one for one in covered() if options["vendor"] in (None, one.vendor)]
            if not accounts:
                known = ", ".join(sorted({one.vendor for one in covered()})) or "none"
                raise Invalid("vendor", f"must be one whose account a tool can list: {known}")
            start, end = _period(options["start"], options["end"], accounts)
            actor = options["actor"] or getpass.getuser()
            numbers = [
                requests.ask(one.vendor, one.account, start, end, actor=actor, announced=False).pk
                for one in accounts
            ]
        except InterlockError as refusal:
            self.stderr.write(str(refusal))
            sys.exit(REFUSED)
        for number in numbers:
            codes.append(self._made(number))
        for tool in uncovered():
            self.stdout.write(f"Not covered: {tool.name}. It moves money, and its vendor can't be asked.")
        sys.exit(max(codes))

    def _made(self, number: int) -> int:
        made = requests.see_through(number)
        if made is None:
            why = StatementRequest.objects.get(pk=number).trouble
            self.stderr.write(f"Statement {number} could not be made: {why}")
            return REFUSED
        for line in lines(made):
            self.stdout.write(line)
        return DIFFERS if Unexplained.objects.filter(statement=made).exists() else 0


def lines(made: VendorStatement) -> Iterator[str]:
    """What a statement found, for people."""
    period = f"{made.start:%Y-%m-%d %H:%M} to {made.end:%Y-%m-%d %H:%M} UTC"
    yield f"Statement {made.pk} of {named(made.vendor, made.account)}, {period}: {made.listed} at the vendor."
    for one in made.totals.order_by("kind", "undo", "currency"):
        sides = [
            f"{number} with {_sum(minor, one.currency)} {where}"
            for number, minor, where in (
                (one.ledger_number, one.ledger_minor, "in the ledger"),
                (one.vendor_number, one.vendor_minor, "at the vendor"),
            )
            if number
        ]
        yield f"{one.kind}{' (undos)' if one.undo else ''}: {', '.join(sides)}"


def _sum(minor: Any, currency: str) -> str:
    try:
        return f"{money.written(int(minor), currency)} {currency}"
    except Invalid:
        return f"{minor} minor units of {currency or 'no currency'}"


def _period(start: str | None, end: str | None, accounts: Sequence[Account]) -> tuple[datetime, datetime]:
    if start is None and end is None:
        return requests.last_day(accounts)
    if start is None:
        raise Invalid("from", "is needed where --to is given")
    begins = _moment(start, "from")
    try:
        return begins, _moment(end, "to") if end is not None else begins + timedelta(days=1)
    except OverflowError:
        raise Invalid("from", "must not lie in the future") from None


def _moment(text: str, field: str) -> datetime:
    """A day, or a moment; without an offset it is UTC."""
    try:
        found = parse_datetime(text)
        if found is None and (day := parse_date(text)) is not None:
            found = datetime(day.year, day.month, day.day)
    except ValueError:
        found = None
    if found is None:
        raise Invalid(field, "must be a day or a moment, such as 2026-11-29 or 2026-11-29T03:00:00Z")
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
