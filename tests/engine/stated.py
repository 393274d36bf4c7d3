"""Days on which things were done at the vendor and with us, and the statements of those days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from durable import clock
from durable.models import Effect, Run, StatementRequest, Unexplained, VendorStatement
from durable.vendor_statements import making, requests
from tests.engine import desk
from tests.vendors import Vendor

DAY = timedelta(days=1)
#: So long after its end a day can be looked at.
SETTLING = timedelta(hours=1)
#: What a person gives who asks.
ACTOR: dict[str, Any] = {"actor": "rita"}


def midnight(back: int = 0) -> datetime:
    """The beginning of the day (UTC) so many days ago. Soon after midnight today counts as the day that is just over:
    what came before has then settled, at whatever hour tests run.
    """
    today = (clock.db_now() - SETTLING).astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - back * DAY


def noon(back: int = 1) -> datetime:
    return midnight(back) + DAY / 2


def refunded(
    vendor: Vendor,
    at: datetime,
    *,
    booked: datetime | None = None,
    amount: str = "40.00",
    currency: str = "EUR",
    order: str = "8812",
) -> Run:
    """A run that has refunded an order: settled with us at a moment, booked by the vendor then or at another one."""
    desk.order(vendor, amount=amount, currency=currency, name=order)
    vendors_clock(vendor, booked or at)
    run = desk.drive(desk.start(order))
    vendors_clock(vendor, None)
    assert desk.effects(run) == {"pay": "applied"}
    settled(run, at)
    return run


def receipt(run: Run) -> str:
    """The vendor's name for what a run has done."""
    return Effect.objects.get(run=run).receipt_id


def vendors_clock(vendor: Vendor, at: datetime | None) -> None:
    """Let it be this moment at the vendor, or again the present one."""
    vendor.modes(clock_skew=(at - clock.db_now()).total_seconds() if at else 0)


def settled(run: Run, at: datetime, sent: datetime | None = None) -> None:
    """Let what a run has done have been sent, and settled, at these moments."""
    Effect.objects.filter(run=run).update(
        settled_at=at, first_sent_at=sent or at, last_sent_at=sent or at, recorded_at=sent or at
    )


def past_us(vendor: Vendor, at: datetime, amount: str = "25.00", currency: str = "EUR", **more: Any) -> str:
    """Somebody refunds by the vendor's own client, past Interlock; the vendor's name for it."""
    minor = {"EUR": 2, "JPY": 0, "KWD": 3}[currency]
    vendors_clock(vendor, at)
    charge = vendor.seed_charge(amount, currency)
    params: Any = {"charge": charge, "amount": int(Decimal(amount).scaleb(minor)), **more}
    made = vendor.client().v1.refunds.create(params)
    vendors_clock(vendor, None)
    return str(made.id)


def statement(start: datetime | None = None, end: datetime | None = None) -> VendorStatement:
    """The statement of a period, by default of yesterday, made now."""
    start = start or midnight(1)
    request = requests.ask("stripe", "", start, end or start + DAY, **ACTOR)
    return making.make(request.pk)


def found(made: VendorStatement) -> list[tuple[Any, ...]]:
    """Its differences: kind, receipt, what the ledger and what the vendor has, in minor units."""
    rows = made.found.order_by("id")
    return list(rows.values_list("kind", "receipt", "ledger_minor", "vendor_minor"))


def sums(made: VendorStatement) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    """Its totals by kind and currency: number and sum in the ledger, and at the vendor."""
    return {
        (one.kind, one.currency): (
            one.ledger_number,
            int(one.ledger_minor),
            one.vendor_number,
            int(one.vendor_minor),
        )
        for one in made.totals.all()
    }


def booked(vendor: Vendor, start: datetime) -> dict[str, tuple[int, int]]:
    """The vendor's own book of the day that begins at `start`: by currency, how many movements and how much."""
    found: dict[str, tuple[int, int]] = {}
    for one in vendor.book("payments"):
        if start.timestamp() <= one["at"] < (start + DAY).timestamp():
            number, minor = found.get(one["currency"], (0, 0))
            found[one["currency"]] = (number + 1, minor + one["amount_minor"])
    return found


def waiting() -> list[tuple[str, int, str]]:
    """What is still to be made: by whom it was asked, how often it was tried, and why it failed."""
    rows = StatementRequest.objects.filter(due_at__isnull=False).order_by("start", "pk")
    return list(rows.values_list("asked_by", "tries", "trouble"))


def unexplained() -> dict[int, int]:
    """How many differences of which statement nobody has explained."""
    counts: dict[int, int] = {}
    for number in Unexplained.objects.values_list("statement", flat=True):
        counts[number] = counts.get(number, 0) + 1
    return counts
