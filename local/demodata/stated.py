"""Statements of vendors over the last days of an invented history, as if each vendor had listed what was invented.

No vendor knows of it: without these the first real statement would list all of yesterday as in the ledger alone. They
are made by the product's own code from a vendor's list that is the ledger's; the schedule goes on from where they end.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db import connection

from durable import clock, plan
from durable.beats import committing
from durable.models import StatementRequest
from durable.vendor_statements import listing, matching
from durable.vendor_statements.accounts import Account, covered

#: Whole days before the last one, which ends with the history.
DAYS = 7
_DAY = timedelta(days=1)
_LIST = """
INSERT INTO pg_temp.interlock_listed (receipt, key, minor, amount, currency, target, at)
SELECT e.receipt_id, e.key, e.amount_minor, '', e.currency, '', e.settled_at FROM durable_effect e
WHERE e.state = 'applied' AND e.undo_of_id IS NULL AND e.amount_minor IS NOT NULL
  AND e.settled_at >= %(start)s AND e.settled_at < %(end)s AND e.vendor = %(vendor)s AND e.tool = ANY(%(tools)s)
"""


def state(until: datetime) -> int:
    """Make the statements of each account that can be listed, up to a moment. Returns how many."""
    plan.agents()
    made = 0
    for account in covered():
        periods = list(_periods(until))
        with listing.aside(), connection.cursor() as cursor:
            names = [tool.name for tool in account.tools]
            stretch = {"start": periods[0][0], "end": until}
            cursor.execute(_LIST, {**stretch, "vendor": account.vendor, "tools": names})
            for start, end in periods:
                _write(account, start, end)
                made += 1
    return made


def _periods(until: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The last whole days (UTC), and what there is of the day in which it ends."""
    midnight = until.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for back in range(DAYS, 0, -1):
        yield midnight - back * _DAY, midnight - (back - 1) * _DAY
    if midnight < until:
        yield midnight, until


def _write(account: Account, start: datetime, end: datetime) -> None:
    with committing("account"):
        request = StatementRequest.objects.create(
            vendor=account.vendor, account=account.account, start=start, end=end, due_at=None
        )
        matching.write(request, account, clock.db_now())
