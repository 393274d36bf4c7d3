"""What a vendor lists, set aside where one statement can hold it against the ledger.

It goes into a table of this session's own, which no other session sees and which ends with it: a kill leaves nothing of
it. Neither Python nor the vendor's client ever holds more than a page of it, and no transaction is open while the
vendor is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

from django.db import connection

from durable.beats import asking, committing
from durable.errors import CannotSay, Invalid, VendorError
from durable.money import to_minor
from durable.text import cut, mend
from durable.vendor import Period, Receipt
from durable.vendor_statements.accounts import Account

#: Rows that are taken in one go: as many as a vendor's page may hold.
BATCH = 100
#: Seconds that one question to the vendor may take.
TIMEOUT = 30.0
#: So far beyond its ends a period is looked at before a row is said to be missing: the vendor's clock is another one,
#: and what was sent before midnight is booked after it.
EDGE = timedelta(hours=1)
_LONGEST = 300
#: No money has more digits before its point, or behind.
_DIGITS = 40

_CREATE = """
CREATE TEMPORARY TABLE interlock_listed (
    receipt text PRIMARY KEY, key text NOT NULL, minor bigint, amount text NOT NULL, currency text NOT NULL,
    target text NOT NULL, at timestamptz NOT NULL
)
"""
_ADD = """
INSERT INTO pg_temp.interlock_listed
SELECT * FROM unnest(%(receipts)s::text[], %(keys)s::text[], %(minors)s::bigint[], %(amounts)s::text[],
    %(currencies)s::text[], %(targets)s::text[], %(moments)s::timestamptz[])
ON CONFLICT (receipt) DO NOTHING
"""


class NotListed(CannotSay):
    """The vendor's account of the period can't be had; the message says why in words for people."""


@contextmanager
def aside() -> Iterator[None]:
    """For the block, this session has an empty table for what a vendor lists."""
    _execute("DROP TABLE IF EXISTS pg_temp.interlock_listed")
    _execute(_CREATE)
    try:
        yield
    finally:
        if connection.connection is not None and not connection.needs_rollback and connection.is_usable():
            _execute("DROP TABLE IF EXISTS pg_temp.interlock_listed")


def ask(account: Account, since: datetime, until: datetime) -> None:
    """Set aside all that the vendor did in `account` from `since` up to `until`. Raises NotListed, where it fails."""
    for tool in account.tools:
        assert tool.statement_function is not None
        period = Period(since, TIMEOUT, until)
        rows: Iterator[Receipt] | None = None
        while True:
            with asking("statement"), _in_words(account):
                if rows is None:
                    rows = iter(tool.statement_function(period))
                batch = [_row(one) for one in islice(rows, BATCH)]
            if not batch:
                break
            with committing("listed"):
                _add(batch)
    _execute("ANALYZE pg_temp.interlock_listed")


@contextmanager
def _in_words(account: Account) -> Iterator[None]:
    """Whatever goes wrong with a vendor is one thing: there is no account of the period."""
    try:
        yield
    except VendorError as error:
        raise NotListed(str(error)) from error
    except Exception as error:  # an adapter is foreign code as much as its vendor is
        raise NotListed(f"{account.name} can't be listed: {type(error).__name__}") from error


def _row(receipt: Receipt) -> tuple[Any, ...]:
    if not receipt.id:
        raise CannotSay("the vendor lists something without a name, which nothing can be held against")
    if receipt.at is None:
        raise CannotSay(f"{_text(receipt.id)} bears no moment, so it belongs to no period")
    currency = _text(receipt.currency or "")
    return (
        _text(receipt.id),
        _text(receipt.key or ""),
        _minor(receipt, currency),
        _written(receipt.amount),
        currency,
        _text(receipt.target or ""),
        receipt.at,
    )


def _minor(receipt: Receipt, currency: str) -> int | None:
    """The amount in minor units; None where it can't be told exactly, which no amount of ours is equal to."""
    if receipt.amount is None:
        return None
    try:
        return to_minor(receipt.amount, currency)
    except Invalid:
        return None


def _written(amount: Decimal | None) -> str:
    """What the vendor says, as it says it; a number that is no money's in short, for written out it may fill memory."""
    if amount is None:
        return ""
    plain = amount.is_finite() and abs(amount.adjusted()) <= _DIGITS
    return _text(f"{amount:f}" if plain else str(amount))


def _text(foreign: str) -> str:
    return cut(mend(foreign), _LONGEST)


def _add(rows: Iterable[tuple[Any, ...]]) -> None:
    names = ("receipts", "keys", "minors", "amounts", "currencies", "targets", "moments")
    columns = [list(column) for column in zip(*rows, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(_ADD, dict(zip(names, columns, strict=True)))


def _execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
