"""Stock without keys, and orders to read."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from tests.vendors import Vendor


def post(vendor: Vendor, path: str, **body: Any) -> requests.Response:
    return requests.post(f"{vendor.url}{path}", json=body, headers={"Idempotency-Key": "k"}, timeout=5)


def test_every_request_to_the_stock_is_a_new_reservation(vendor: Vendor) -> None:
    for _ in range(2):
        assert post(vendor, "/stock/reservations", sku="MUG", quantity=2, reference="r").status_code == 201
    listed = requests.get(f"{vendor.url}/stock/reservations?reference=r", timeout=5).json()["reservations"]
    assert [one["quantity"] for one in listed] == [2, 2]
    assert [(one["target"], one["key"], one["metadata"]["quantity"]) for one in vendor.book("stock")] == [
        ("MUG", "r", 2)
    ] * 2


def test_a_reservation_is_cancelled_once(vendor: Vendor) -> None:
    made = post(vendor, "/stock/reservations", sku="MUG", quantity=2, reference="r").json()
    path = f"/stock/reservations/{made['id']}/cancellations"
    assert post(vendor, path, reference="r:undo").json()["status"] == "cancelled"
    again = post(vendor, path, reference="r:undo")
    assert (again.status_code, again.json()["error"]) == (422, "already_cancelled")
    assert [one["metadata"]["quantity"] for one in vendor.book("stock")] == [2, -2]


@pytest.mark.parametrize(
    "body",
    [
        {"sku": "MUG", "quantity": 0},
        {"sku": "MUG", "quantity": True},
        {"quantity": 1},
        {"sku": "NONE-1", "quantity": 1},
    ],
)
def test_a_bad_reservation_moves_nothing(vendor: Vendor, body: dict[str, Any]) -> None:
    assert post(vendor, "/stock/reservations", reference="r", **body).status_code in (400, 422)
    assert vendor.book() == []


def test_an_order_is_shown_as_it_was_seeded(vendor: Vendor) -> None:
    vendor.seed_order("8812", amount="40.00", charge="ch_1")
    shown = requests.get(f"{vendor.url}/orders/8812", timeout=5).json()
    assert (shown["amount"], shown["charge"], shown["email"]) == ("40.00", "ch_1", "ada@example.org")
    assert requests.get(f"{vendor.url}/orders/none", timeout=5).status_code == 404
