"""Stock reservations, at a vendor that honours no idempotency keys.

The vendor's facts: every POST is a new reservation. Our key goes along as `reference`, which the vendor
stores, shows back and lists by, and does not compare. The list may lag behind, so that a miss proves nothing.
A reservation can be cancelled once, which is the undo; a cancellation has a reference of its own.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from durable.adapters import shop
from durable.errors import CannotSay, InDoubt, VendorRefused
from durable.vendor import Absent, Call, Candidates, LookupAnswer, Period, Receipt

PATH = "/stock/reservations"


def reserve(call: Call, sku: str, quantity: int, order: str) -> Receipt:
    """Reserve `quantity` pieces of `sku` for `order`."""
    body = {"sku": sku, "quantity": quantity, "order": order, "reference": call.key}
    return _reservation(shop.post(PATH, body, call.timeout))


def find_reservation(call: Call) -> LookupAnswer:
    """Look for reservations that bear the call's key; several are candidates."""
    try:
        listed = _list({"reference": call.key}, call.timeout)
        found = [_reservation(one) for one in listed if one.get("reference") == call.key]
    except (VendorRefused, InDoubt) as error:
        raise CannotSay(f"the look-up of reservations failed: {error}") from error
    if len(found) == 1:
        return found[0]
    return Candidates(tuple(found)) if found else Absent()


def reservations_since(period: Period) -> list[Receipt]:
    """The vendor's account: every reservation that was last made or cancelled in a period."""
    try:
        found = [_reservation(one) for one in _list({}, period.timeout)]
    except (VendorRefused, InDoubt) as error:
        raise CannotSay(f"the list of reservations can't be had: {error}") from error
    until = period.until
    return [
        one
        for one in found
        if one.at is None or (one.at >= period.since and (until is None or one.at < until))
    ]


def _list(query: dict[str, str], timeout: float) -> list[dict[str, Any]]:
    listed = shop.get(PATH, query, timeout).get("reservations")
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise CannotSay("the list of reservations can't be read")
    return listed


def release_reservation(call: Call, receipt: Receipt) -> Receipt:
    """The undo: cancel the reservation that `receipt` proves."""
    path = f"{PATH}/{quote(receipt.id, safe='')}/cancellations"
    return _cancellation(shop.post(path, {"reference": call.key}, call.timeout))


def find_release(call: Call) -> LookupAnswer:
    """Look whether the reservation that the call undoes is cancelled. Cancelled by somebody else: a
    candidate.
    """
    if call.undoes is None:
        raise CannotSay("the call does not say which reservation it undoes")
    try:
        body = shop.get(f"{PATH}/{quote(call.undoes.id, safe='')}", {}, call.timeout)
        if body.get("id") != call.undoes.id or "cancellation" not in body:
            raise CannotSay("the answer is not the reservation that was asked for")
        if body["cancellation"] is None:
            return Absent()
        found = _cancellation(body)
    except (VendorRefused, InDoubt) as error:
        raise CannotSay(f"the look-up of the reservation failed: {error}") from error
    return found if found.key == call.key else Candidates((found,))


def _reservation(body: dict[str, Any]) -> Receipt:
    name, sku, reference, at = (body.get(one) for one in ("id", "sku", "reference", "at"))
    quantity = body.get("quantity")
    if not isinstance(name, str) or not isinstance(sku, str) or type(quantity) is not int:
        raise InDoubt("the shop answered with something that is not a reservation")
    return Receipt(
        id=name,
        target=sku,
        key=reference if isinstance(reference, str) else None,
        at=_when(at),
        facts={"quantity": quantity, "order": body.get("order"), "status": body.get("status")},
    )


def _cancellation(body: dict[str, Any]) -> Receipt:
    """The receipt of a release: its target is the reservation that it cancelled."""
    found, reservation = body.get("cancellation"), body.get("id")
    if (
        not isinstance(found, dict)
        or not isinstance(found.get("id"), str)
        or not isinstance(reservation, str)
    ):
        raise InDoubt("the shop answered with something that is not a cancellation")
    reference = found.get("reference")
    return Receipt(
        id=found["id"],
        target=reservation,
        key=reference if isinstance(reference, str) else None,
        at=_when(found.get("at")),
        facts={"sku": body.get("sku"), "quantity": body.get("quantity"), "status": body.get("status")},
    )


def _when(seconds: object) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, (int, float)) else None
