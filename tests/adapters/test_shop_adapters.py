"""Stock and orders: what is peculiar to the shop."""

from __future__ import annotations

from typing import Any

import pytest

from durable.adapters.orders import fetch_order
from durable.adapters.stock import find_release, find_reservation, release_reservation, reserve
from durable.errors import CannotSay, NotSent, VendorRefused
from durable.vendor import Candidates
from tests.adapters.subjects import call
from tests.vendors import Vendor


def test_a_reservation_says_what_was_reserved_for_whom(vendor: Vendor) -> None:
    receipt = reserve(call({}), "MUG", 2, "8812")
    assert (receipt.target, receipt.amount) == ("MUG", None)
    assert receipt.facts == {"quantity": 2, "order": "8812", "status": "reserved"}


def test_an_empty_shelf_is_a_definitive_no(vendor: Vendor) -> None:
    with pytest.raises(VendorRefused) as refused:
        reserve(call({}), "NONE-1", 1, "8812")
    assert refused.value.code == "out_of_stock"
    assert vendor.book() == []


def test_a_released_reservation_is_still_found_as_what_it_is(vendor: Vendor) -> None:
    made = reserve(call({}), "MUG", 2, "8812")
    release_reservation(call({}, key="run-4711:pay:undo", undoes=made), made)
    found = find_reservation(call({}))
    assert not isinstance(found, Candidates) and getattr(found, "facts", {})["status"] == "cancelled"


def test_a_release_by_somebody_else_is_a_candidate(vendor: Vendor) -> None:
    made = reserve(call({}), "MUG", 2, "8812")
    release_reservation(call({}, key="by-hand", undoes=made), made)
    ours = call({}, key="run-4711:pay:undo", undoes=made)
    found = find_release(ours)
    assert isinstance(found, Candidates) and found.receipts[0].key == "by-hand"
    with pytest.raises(VendorRefused) as refused:
        release_reservation(ours, made)
    assert refused.value.code == "already_cancelled"


def test_a_release_without_what_it_undoes_can_not_be_looked_up(vendor: Vendor) -> None:
    with pytest.raises(CannotSay):
        find_release(call({}))


def test_an_order_is_read_whole(vendor: Vendor) -> None:
    vendor.seed_order("8812", "40.00", "EUR", charge="ch_1")
    order = fetch_order("8812")
    assert order["id"] == "8812"
    assert (order["charge"], order["amount"], order["currency"]) == ("ch_1", "40.00", "EUR")
    assert order["items"] == [{"sku": "MUG-BLUE", "quantity": 1}]


@pytest.mark.parametrize("order", ["none", "../v1/refunds", "a?b", ""])
def test_an_order_that_is_not_there_is_refused(vendor: Vendor, order: str) -> None:
    with pytest.raises(VendorRefused):
        fetch_order(order)


@pytest.mark.parametrize(
    "fault", [{"kind": "drop"}, {"kind": "status", "status": 503}, {"kind": "garbage", "form": "list"}]
)
def test_an_order_that_can_not_be_read_is_no_missing_order(vendor: Vendor, fault: dict[str, Any]) -> None:
    vendor.seed_order("8812")
    vendor.fault(path="/orders", **fault)
    with pytest.raises(CannotSay):
        fetch_order("8812")


def test_a_shop_without_an_address_names_the_setting(vendor: Vendor, settings: Any) -> None:
    settings.SHOP_API_BASE = ""
    with pytest.raises(NotSent, match="SHOP_API_BASE"):
        reserve(call({}), "MUG", 2, "8812")
