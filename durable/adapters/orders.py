"""The order look-up: it only reads, so it may be repeated at will."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from durable.adapters import shop
from durable.errors import CannotSay

FIELDS = ("id", "customer", "email", "charge", "amount", "currency", "items", "status")


def fetch_order(order: str, timeout: float = 10.0) -> dict[str, Any]:
    """The order's customer, email, charge, amount (decimal text), currency, items and status.

    Raises VendorRefused where there is no such order, CannotSay for every other failure. `timeout` is in
    seconds.
    """
    body = shop.get(f"/orders/{quote(order, safe='')}", {}, timeout)
    if body.get("id") != order or any(name not in body for name in FIELDS):
        raise CannotSay("the answer is not the order that was asked for")
    return {name: body[name] for name in FIELDS}
