"""The vendors' acts as the conformance suite sees them: one send, one look-up, and what the vendor's book must say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from durable.adapters.stock import find_release, find_reservation, release_reservation, reserve
from durable.adapters.stripe_refunds import find_refund, refund
from durable.vendor import Call, LookupAnswer, Receipt
from tests.vendors import Vendor

KEY = "run-4711:pay"


def call(args: dict[str, Any], timeout: float = 5.0, key: str = KEY, undoes: Receipt | None = None) -> Call:
    return Call(key=key, run=key.partition(":")[0], timeout=timeout, args=args, undoes=undoes)


@dataclass(frozen=True)
class Subject:
    """One effect at one vendor, made ready."""

    vendor: Vendor
    path: str
    look: str
    target: str
    act: Callable[[float], Receipt]
    find: Callable[[float], LookupAnswer]

    def moved(self) -> list[dict[str, Any]]:
        """What the vendor's own book says about this key."""
        return [one for one in self.vendor.book() if one["key"] == KEY]

    def sent(self) -> list[dict[str, Any]]:
        return self.vendor.requests("POST", self.path)


def refunds(vendor: Vendor) -> Subject:
    charge = vendor.seed_charge("100.00", "EUR")
    args = {"charge": charge, "amount": "40.00", "currency": "EUR", "reason": ""}

    def act(timeout: float) -> Receipt:
        return refund(call(args, timeout), charge, Decimal("40.00"), "EUR", "")

    return Subject(
        vendor, "/v1/refunds", "/v1/refunds", charge, act, lambda timeout: find_refund(call(args, timeout))
    )


def reservations(vendor: Vendor) -> Subject:
    args = {"sku": "MUG", "quantity": 2, "order": "8812"}
    path = "/stock/reservations"

    def act(timeout: float) -> Receipt:
        return reserve(call(args, timeout), "MUG", 2, "8812")

    return Subject(vendor, path, path, "MUG", act, lambda timeout: find_reservation(call(args, timeout)))


def releases(vendor: Vendor) -> Subject:
    made = reserve(call({}, key="run-4711:reserve"), "MUG", 2, "8812")
    path = f"/stock/reservations/{made.id}"

    def act(timeout: float) -> Receipt:
        return release_reservation(call({}, timeout, undoes=made), made)

    def find(timeout: float) -> LookupAnswer:
        return find_release(call({}, timeout, undoes=made))

    return Subject(vendor, f"{path}/cancellations", path, made.id, act, find)
