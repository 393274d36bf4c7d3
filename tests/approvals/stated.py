"""Statements of vendors for tests of pages: the rows themselves, since no vendor is asked here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from durable.clock import db_now
from durable.findings import Finding
from durable.models import (
    Difference,
    Effect,
    StatementRequest,
    StatementTotal,
    Unexplained,
    VendorStatement,
)

DAY = timedelta(days=1)


def request(back: int = 1, **more: Any) -> StatementRequest:
    """What asks for the statement of a day; of yesterday, if nothing else is said."""
    today = db_now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    start = today - back * DAY
    return StatementRequest.objects.create(vendor="stripe", start=start, end=start + DAY, **more)


def made(*kinds: Finding, back: int = 1, **more: Any) -> VendorStatement:
    """The statement of a day with a difference of each of these kinds, all to be explained."""
    asked = request(back, due_at=None, asked_by=more.pop("asked_by", ""))
    one = VendorStatement.objects.create(
        request=asked, vendor=asked.vendor, account="", start=asked.start, end=asked.end, tools=["refund"],
        listed=3 + len(kinds), differences=len(kinds), digest="0" * 64, began_at=db_now() - timedelta(seconds=2),
    )  # fmt: skip
    total(one, Finding.BOTH, 3)
    for kind in sorted(set(kinds)):
        total(one, kind, kinds.count(kind), 2500)
    for number, kind in enumerate(kinds):
        differs(one, kind, number=number, summed=True, **more)
    return one


def total(one: VendorStatement, kind: Finding, number: int, minor: int = 4000, currency: str = "EUR") -> None:
    sums = {"ledger_number": number, "ledger_minor": number * minor}
    sums |= {"vendor_number": number, "vendor_minor": number * minor}
    if kind is Finding.VENDOR_ALONE:
        sums |= {"ledger_number": 0, "ledger_minor": 0}
    if kind is Finding.LEDGER_ALONE:
        sums |= {"vendor_number": 0, "vendor_minor": 0}
    StatementTotal.objects.create(statement=one, kind=kind.value, undo=False, currency=currency, **sums)


def differs(
    one: VendorStatement,
    kind: Finding,
    *,
    effect: Effect | None = None,
    number: int = 0,
    say: Callable[[str], str] = lambda plain: plain,
    minor: int = 2500,
    currency: str = "EUR",
    summed: bool = False,
) -> Difference:
    """One difference, to be explained, and its total unless that is there. `say` writes what comes from the vendor."""
    ours = None if kind is Finding.VENDOR_ALONE else minor
    theirs = None if kind is Finding.LEDGER_ALONE else minor - (kind is Finding.AMOUNT)
    receipt = say(f"re_{one.pk}_{kind.name.lower()}_{number}")
    found = Difference.objects.create(
        statement=one, kind=kind.value, effect=effect, effect_key=effect.key if effect else "", undo=False,
        receipt=receipt, ledger_minor=ours, ledger_currency=currency if ours is not None else "",
        vendor_minor=theirs, vendor_amount="25.00" if theirs is not None else "",
        vendor_currency=currency if theirs is not None else "",
        vendor_key=say("po_1:pay") if kind is Finding.VENDOR_ALONE else "", target=say("ch_1"), at=_noon(one.start),
        likeness=hashlib.sha256(receipt.encode()).hexdigest(),
    )  # fmt: skip
    if not summed:
        total(one, kind, 1, minor, currency)
    Unexplained.objects.create(difference=found, statement=one, likeness=found.likeness)
    return found


def _noon(start: datetime) -> datetime:
    return start + DAY / 2
