"""One statement, made: the vendor is asked, what it lists is held against the ledger, and all of it is written in one
commit. Killed anywhere, or where the vendor fails in the middle, there is no statement, and the request stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from durable import clock, plan
from durable.beats import committing
from durable.errors import Conflict, NotFound
from durable.models import StatementRequest, VendorStatement
from durable.vendor_statements import listing, matching
from durable.vendor_statements.accounts import account as account_of


def make(number: int) -> VendorStatement:
    """Make the statement that a request asks for.

    Raises NotFound, Conflict where it is made already or another process is at it, Invalid where no tool lists the
    account (any more), and NotListed where the vendor can't be asked; then nothing is written.
    """
    plan.agents()
    with _alone(number):
        request = StatementRequest.objects.filter(pk=number).first()
        if request is None:
            raise NotFound("no such statement")
        if request.due_at is None:
            raise Conflict(f"statement {number} is made already")
        account = account_of(request.vendor, request.account)
        began = clock.db_now()
        reached = matching.reaches_back(account, request.start, request.end)
        since = min(request.start, reached or request.start) - listing.EDGE
        with listing.aside():
            listing.ask(account, since, request.end + listing.EDGE)
            with committing("account"):
                made = matching.write(request, account, began)
                StatementRequest.objects.filter(pk=number).update(due_at=None, trouble="", failing_since=None)
    return made


def wait_for_others(number: int) -> None:
    """Return once no other process makes this statement."""
    name = f"statement:{number}"
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [name])
        cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [name])


@contextmanager
def _alone(number: int) -> Iterator[None]:
    """See that no other process makes this statement meanwhile. The session holds it, so that a kill lets go of it."""
    name = f"statement:{number}"
    if not _asked("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", name):
        raise Conflict(f"statement {number} is being made by another process")
    try:
        yield
    finally:
        if connection.connection is not None and not connection.needs_rollback and connection.is_usable():
            _asked("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", name)


def _asked(sql: str, value: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(sql, [value])
        return bool(cursor.fetchone()[0])
