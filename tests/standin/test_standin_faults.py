"""Faults on demand: by schedule over the control API, and by a value in the request itself."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import requests
import stripe

from standin.book import Book
from standin.control import Control, RequestLog
from standin.web import Request
from tests.vendors import Vendor


def pay(vendor: Vendor, charge: str, key: str = "k", note: str = "") -> stripe.Refund:
    params: Any = {"charge": charge, "amount": 4000, "metadata": {"note": note}}
    return vendor.client(timeout=0.5).v1.refunds.create(params, {"idempotency_key": key})


@pytest.mark.parametrize("kind", ["drop", "reset"])
def test_a_cut_reply_hides_what_was_done(vendor: Vendor, kind: str) -> None:
    charge = vendor.seed_charge()
    vendor.fault(kind, path="/v1/refunds")
    with pytest.raises(stripe.APIConnectionError):
        pay(vendor, charge)
    assert vendor.moved() == [Decimal(40)]
    assert pay(vendor, charge).id == vendor.book()[0]["id"]


def test_a_late_request_acts_after_its_sender_gave_up(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.fault("late", path="/v1/refunds", seconds=0.2)
    with pytest.raises(stripe.APIConnectionError):
        pay(vendor, charge)
    assert vendor.moved() == []
    vendor.until(lambda: vendor.moved() == [Decimal(40)])


@pytest.mark.parametrize(("acts", "moved"), [(False, []), (True, [Decimal(40)])])
def test_a_vendor_that_hangs_may_or_may_not_have_acted(
    vendor: Vendor, acts: bool, moved: list[Decimal]
) -> None:
    charge = vendor.seed_charge()
    vendor.fault("hang", path="/v1/refunds", seconds=30, acts=acts)
    with pytest.raises(stripe.APIConnectionError):
        pay(vendor, charge)
    assert vendor.moved() == moved


def test_a_rule_waits_for_its_turn_and_fires_so_often(vendor: Vendor) -> None:
    charge = vendor.seed_charge("1000.00")
    vendor.fault("status", path="/v1/refunds", status=503, after=1, times=2)
    pay(vendor, charge, "a")
    for key in ("b", "c"):
        with pytest.raises(stripe.APIError):
            pay(vendor, charge, key)
    pay(vendor, charge, "d")
    assert [one["key"] for one in vendor.book()] == ["a", "d"]


def test_a_rule_without_end_fires_until_it_is_taken_away(vendor: Vendor) -> None:
    charge = vendor.seed_charge("1000.00")
    vendor.fault("status", status=503, times=0)
    for key in ("a", "b", "c"):
        with pytest.raises(stripe.APIError):
            pay(vendor, charge, key)
    vendor.clear_faults()
    pay(vendor, charge, "d")
    assert vendor.moved() == [Decimal(40)]


def test_a_rule_can_be_meant_for_one_run(vendor: Vendor) -> None:
    charge = vendor.seed_charge("1000.00")
    vendor.fault("status", status=402, contains="run-2")
    pay(vendor, charge, "run-1:pay")
    with pytest.raises(stripe.CardError):
        pay(vendor, charge, "run-2:pay")


def test_a_request_can_ask_for_its_own_fault_once(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    with pytest.raises(stripe.APIConnectionError):
        pay(vendor, charge, note="standin:drop")
    assert pay(vendor, charge, note="standin:drop").id == vendor.book()[0]["id"]
    with pytest.raises(stripe.RateLimitError):
        pay(vendor, charge, "other", note="standin:status:429")


def test_a_429_says_when_to_come_back(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.fault("status", status=429, retry_after=7)
    with pytest.raises(stripe.RateLimitError) as refused:
        pay(vendor, charge)
    assert refused.value.headers is not None and refused.value.headers["Retry-After"] == "7"


def test_a_lagging_lookup_does_not_see_what_is_young(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    pay(vendor, charge)
    vendor.modes(lookup_lag=60)
    assert vendor.client().v1.refunds.list({"charge": charge}).data == []
    vendor.modes(lookup_lag=0)
    vendor.fault("lag", seconds=60)
    assert vendor.client().v1.refunds.list({"charge": charge}).data == []
    assert len(vendor.client().v1.refunds.list({"charge": charge}).data) == 1


def test_a_forget_key_rule_makes_the_vendor_act_twice(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    pay(vendor, charge)
    vendor.fault("forget_key", method="POST")
    pay(vendor, charge)
    assert vendor.moved() == [Decimal(40)] * 2


def test_the_log_counts_every_request_even_those_without_an_answer(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.fault("drop", path="/v1/refunds")
    with pytest.raises(stripe.APIConnectionError):
        pay(vendor, charge)
    pay(vendor, charge)
    seen = vendor.requests("POST", "/v1/refunds")
    assert [(one["key"], one["fault"], one["status"]) for one in seen] == [
        ("k", "drop", None),
        ("k", None, 200),
    ]


@pytest.mark.parametrize(
    ("path", "body", "word"),
    [
        ("faults", {"kind": "explode"}, "kind"),
        ("faults", {"kind": "drop", "tims": 1}, "tims"),
        ("modes", {"keys": "x"}, "keys"),
    ],
)
def test_a_bad_wish_is_refused_by_name(vendor: Vendor, path: str, body: dict[str, Any], word: str) -> None:
    reply = requests.post(f"{vendor.url}/_control/{path}", json=body, timeout=5)
    assert (reply.status_code, word in reply.json()["message"]) == (400, True)


def test_the_control_api_answers_on_loopback_only(vendor: Vendor, tmp_path: Any) -> None:
    book = Book(tmp_path / "b")
    control = Control(book, None, None, None, RequestLog(), None)  # type: ignore[arg-type]  # it never asks them
    asked = Request("GET", "/_control/requests", {}, {})
    assert control.handle(asked, "192.0.2.7").status == 403
    assert control.handle(asked, "127.0.0.1").status == 200
    book.close()


def test_a_late_request_arrives_when_the_vendors_time_passes_and_not_before(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.fault("late", method="POST", path="/v1/refunds", seconds=3_600)
    with pytest.raises(stripe.APIConnectionError):
        pay(vendor, charge)

    vendor.passes(3_000)
    assert vendor.moved() == []
    vendor.passes(700)
    assert vendor.moved() == [Decimal(40)]


def test_time_that_passes_shows_what_a_lagging_list_has_hidden(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.modes(lookup_lag=60)
    pay(vendor, charge)
    assert vendor.client().v1.refunds.list({"charge": charge}).data == []

    vendor.passes(61)

    assert len(vendor.client().v1.refunds.list({"charge": charge}).data) == 1


def test_a_late_request_finds_its_key_as_old_as_it_is_when_it_arrives(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.fault("late", method="POST", path="/v1/refunds", seconds=60)
    with pytest.raises(stripe.APIConnectionError):
        pay(vendor, charge)
    pay(vendor, charge)

    vendor.passes(48 * 3600)

    assert vendor.moved() == [Decimal(40)]
    pay(vendor, charge)
    assert vendor.moved() == [Decimal(40), Decimal(40)]


def test_two_rules_alike_fire_once_each(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.fault("status", after=1, method="POST", path="/v1/refunds")
    vendor.fault("status", after=0, method="POST", path="/v1/refunds")
    for _ in range(2):
        with pytest.raises(stripe.APIError):
            pay(vendor, charge)
    pay(vendor, charge)
    assert vendor.moved() == [Decimal(40)]
