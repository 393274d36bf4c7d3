"""Refunds: what is peculiar to Stripe."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from durable.adapters.stripe_refunds import charge_facts, find_refund, refund
from durable.errors import CannotSay, InDoubt, NotSent, VendorRefused
from durable.vendor import Absent, Call, Candidates, Receipt
from tests.adapters.subjects import KEY, call
from tests.vendors import Vendor

FORTY = Decimal("40.00")


def pay(
    charge: str, amount: str = "40.00", currency: str = "EUR", key: str = KEY, reason: str = ""
) -> Receipt:
    args = {"charge": charge, "amount": amount, "currency": currency, "reason": reason}
    return refund(call(args, key=key), charge, Decimal(amount), currency, reason)


def look(charge: str, amount: str = "40.00", currency: str = "EUR", since: datetime | None = None) -> Any:
    args = {"charge": charge, "amount": amount, "currency": currency, "reason": ""}
    return find_refund(Call(key=KEY, run="run-4711", timeout=5, args=args, first_sent_at=since))


def by_hand(vendor: Vendor, charge: str, amount: int, key: str | None = None) -> str:
    """A refund made in the dashboard, or by another effect."""
    params: Any = {"charge": charge, "amount": amount}
    if key:
        params["metadata"] = {"interlock_key": key}
    return vendor.client().v1.refunds.create(params).id


def test_the_receipt_is_what_stripe_says_moved(vendor: Vendor) -> None:
    charge = vendor.seed_charge("100.00", "EUR")
    receipt = pay(charge, reason="requested_by_customer")
    assert (receipt.amount, receipt.currency, receipt.target, receipt.key) == (FORTY, "EUR", charge, KEY)
    assert receipt.facts["status"] == "succeeded" and receipt.facts["amount_minor"] == 4000
    assert vendor.book()[0]["metadata"] == {"interlock_key": KEY, "interlock_run": "run-4711"}


def test_a_reason_of_our_own_goes_into_the_metadata(vendor: Vendor) -> None:
    pay(vendor.seed_charge(), reason="The mug came in two pieces")
    assert vendor.book()[0]["metadata"]["reason"] == "The mug came in two pieces"


def test_the_same_key_gives_the_same_receipt(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    assert pay(charge).id == pay(charge).id
    assert vendor.moved() == [FORTY]


def test_a_payment_intent_can_be_refunded_and_looked_up(vendor: Vendor) -> None:
    intent = vendor.seed_intent("100.00")
    receipt = pay(intent)
    assert receipt.target == intent
    assert look(intent) == receipt
    assert charge_facts(intent)["refundable"] == "60.00"


def test_a_saved_500_is_doubt_that_repeating_never_settles(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.fault("error", path="/v1/refunds", acts=True, saved=True)
    with pytest.raises(InDoubt) as first:
        pay(charge)
    with pytest.raises(InDoubt) as second:
        pay(charge)
    assert (first.value.saved, second.value.saved) == (False, True)
    assert look(charge).id == vendor.book()[0]["id"]


def test_other_parameters_under_a_used_key_are_doubt_not_failure(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.fault("drop", path="/v1/refunds")
    with pytest.raises(InDoubt):
        pay(charge, "40.00")
    with pytest.raises(InDoubt) as mismatch:
        pay(charge, "41.00")
    assert mismatch.value.saved
    assert vendor.moved() == [FORTY]


def test_a_key_in_flight_is_doubt(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.fault("slow", path="/v1/refunds", seconds=30)
    args = {"charge": charge, "amount": "40.00", "currency": "EUR", "reason": ""}
    with pytest.raises(InDoubt):
        refund(call(args, timeout=0.3), charge, FORTY, "EUR", "")
    with pytest.raises(InDoubt, match="idempotency_error") as flying:
        pay(charge)
    assert not flying.value.saved


@pytest.mark.parametrize("status", [401, 403])
def test_a_credential_that_is_not_taken_moved_nothing_and_may_be_repeated(
    vendor: Vendor, status: int
) -> None:
    vendor.fault("status", path="/v1/refunds", status=status)
    with pytest.raises(NotSent, match="STRIPE_API_KEY"):
        pay(vendor.seed_charge())


def test_a_missing_credential_sends_nothing_and_names_the_setting(vendor: Vendor, settings: Any) -> None:
    charge = vendor.seed_charge()
    settings.STRIPE_API_KEY = ""
    with pytest.raises(NotSent, match="STRIPE_API_KEY"):
        pay(charge)
    assert vendor.requests() == []


def test_no_message_shows_the_secret(vendor: Vendor, settings: Any) -> None:
    charge = vendor.seed_charge()
    settings.STRIPE_API_KEY = "sk-not-so-secret"
    with pytest.raises(NotSent) as refused:
        pay(charge)
    assert "not-so-secret" not in str(refused.value)


def test_more_than_is_left_is_refused_with_stripes_code(vendor: Vendor) -> None:
    charge = vendor.seed_charge("10.00")
    with pytest.raises(VendorRefused, match="greater than unrefunded"):
        pay(charge, "10.01")
    pay(charge, "10.00", key="other")
    with pytest.raises(VendorRefused) as refused:
        pay(charge, "1.00", key="third")
    assert refused.value.code == "charge_already_refunded"


def test_a_200_about_another_sum_is_told_as_it_is(vendor: Vendor) -> None:
    vendor.fault("garbage", path="/v1/refunds", form="other_amount")
    assert pay(vendor.seed_charge()).amount == Decimal("40.01")
    vendor.fault("garbage", path="/v1/refunds", form="other_currency")
    odd = pay(vendor.seed_charge(), key="other")
    assert (odd.amount, odd.currency) == (None, "XTS")


def test_a_refund_by_hand_of_the_same_amount_is_a_candidate_never_a_receipt(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    by_hand(vendor, charge, 1000)
    by_hand(vendor, charge, 4000, key="run-1:pay")
    assert look(charge) == Absent()
    name = by_hand(vendor, charge, 4000)
    found = look(charge)
    assert isinstance(found, Candidates)
    assert [(one.id, one.key) for one in found.receipts] == [(name, None)]


def test_a_refund_by_hand_from_before_the_first_send_is_no_candidate(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    by_hand(vendor, charge, 4000)
    now = datetime.now(UTC)
    assert isinstance(look(charge, since=now), Candidates)
    assert look(charge, since=now + timedelta(hours=1)) == Absent()


def test_ours_is_found_behind_a_hundred_others(vendor: Vendor) -> None:
    charge = vendor.seed_charge("1000.00")
    ours = pay(charge)
    for _ in range(101):
        by_hand(vendor, charge, 100)
    assert look(charge) == ours
    assert len(vendor.requests("GET", "/v1/refunds")) == 2


def test_a_second_page_that_fails_is_no_miss(vendor: Vendor) -> None:
    charge = vendor.seed_charge("1000.00")
    pay(charge)
    for _ in range(101):
        by_hand(vendor, charge, 100)
    vendor.fault("status", method="GET", path="/v1/refunds", after=1, status=503)
    with pytest.raises(CannotSay):
        look(charge)


def test_all_pages_share_one_deadline(vendor: Vendor) -> None:
    charge = vendor.seed_charge("1000.00")
    for _ in range(101):
        by_hand(vendor, charge, 100)
    vendor.fault("hang", method="GET", path="/v1/refunds", after=1, seconds=30)
    with pytest.raises(CannotSay):
        find_refund(call({"charge": charge, "amount": "40.00", "currency": "EUR"}, timeout=0.5))


@pytest.mark.parametrize(
    ("charged", "currency", "amount", "minor"),
    [
        ("1000", "JPY", "500", 500),
        ("123.45", "EUR", "123.45", 12345),
        ("50.000", "KWD", "4.120", 4120),
        ("100", "MGA", "7.00", 7),
        ("500.00", "ISK", "5", 500),
        ("100.00", "HUF", "40.50", 4050),
    ],
)
def test_each_currency_goes_out_in_stripes_unit_and_comes_back_whole(
    vendor: Vendor, charged: str, currency: str, amount: str, minor: int
) -> None:
    receipt = pay(vendor.seed_charge(charged, currency), amount, currency)
    assert vendor.book()[0]["amount_minor"] == minor
    assert receipt.amount is not None and str(receipt.amount) == amount


@pytest.mark.parametrize(
    ("amount", "currency"),
    [
        ("40.5", "JPY"),
        ("40.005", "EUR"),
        ("5.124", "KWD"),
        ("5.50", "ISK"),
        ("5.50", "MGA"),
        ("500", "UGX"),
        ("5.000", "IQD"),
        ("5", "ABC"),
        ("0", "EUR"),
        ("-1", "EUR"),
        ("NaN", "EUR"),
    ],
)
def test_what_stripe_has_no_certain_unit_for_is_never_sent(
    vendor: Vendor, amount: str, currency: str
) -> None:
    charge = vendor.seed_charge()
    with pytest.raises(VendorRefused):
        pay(charge, amount, currency)
    assert vendor.requests() == []


def test_a_charge_tells_what_is_left_of_it(vendor: Vendor) -> None:
    charge = vendor.seed_charge("100.00", "EUR")
    pay(charge)
    assert charge_facts(charge) == {
        "charge": charge,
        "captured": "100.00",
        "refunded": "40.00",
        "refundable": "60.00",
        "currency": "EUR",
        "status": "succeeded",
        "disputed": "no",
    }
    assert charge_facts(call({"charge": charge}))["refundable"] == "60.00"


def test_an_unknown_charge_is_refused_and_a_lame_vendor_can_not_say(vendor: Vendor) -> None:
    with pytest.raises(VendorRefused):
        charge_facts("ch_none")
    charge = vendor.seed_charge()
    vendor.fault("status", method="GET", path="/v1/charges", status=503)
    with pytest.raises(CannotSay):
        charge_facts(charge)
    vendor.fault("garbage", method="GET", path="/v1/charges", form="list")
    with pytest.raises(CannotSay):
        charge_facts(charge)
