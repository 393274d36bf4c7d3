"""The payments service, asked by the official client: what Stripe's documentation promises, the stand-in does."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
import requests
import stripe

from tests.vendors import Vendor


def refund(
    vendor: Vendor, charge: str, amount: int, key: str = "run-1:pay", **metadata: str
) -> stripe.Refund:
    params: Any = {"charge": charge, "amount": amount, "metadata": {"interlock_key": key, **metadata}}
    return vendor.client().v1.refunds.create(params, {"idempotency_key": key})


def test_a_refund_moves_money_once_and_keeps_its_metadata(vendor: Vendor) -> None:
    charge = vendor.seed_charge("100.00", "EUR")
    made = refund(vendor, charge, 4000, order="8812")
    assert (made.amount, made.currency, made.charge, made.status) == (4000, "eur", charge, "succeeded")
    assert made.metadata is not None and made.metadata["order"] == "8812"
    entry = vendor.book()[0]
    assert (entry["id"], entry["amount"], entry["currency"]) == (made.id, "40.00", "EUR")
    assert (entry["target"], entry["key"]) == (charge, "run-1:pay")
    assert vendor.client().v1.charges.retrieve(charge).amount_refunded == 4000
    assert vendor.client().v1.refunds.retrieve(made.id).amount == 4000


def test_a_refund_without_an_amount_gives_back_what_is_left(vendor: Vendor) -> None:
    charge = vendor.seed_charge("100.00")
    refund(vendor, charge, 3000)
    vendor.client().v1.refunds.create({"charge": charge})
    assert vendor.moved() == [Decimal(30), Decimal(70)]
    assert vendor.client().v1.charges.retrieve(charge).refunded


def test_partial_refunds_never_pass_the_charge(vendor: Vendor) -> None:
    charge = vendor.seed_charge("100.00")
    refund(vendor, charge, 6000, key="a")
    with pytest.raises(stripe.InvalidRequestError, match="greater than unrefunded amount"):
        refund(vendor, charge, 4001, key="b")
    refund(vendor, charge, 4000, key="c")
    with pytest.raises(stripe.InvalidRequestError) as refused:
        refund(vendor, charge, 1, key="d")
    assert refused.value.code == "charge_already_refunded"
    assert vendor.moved() == [Decimal(60), Decimal(40)]


def test_refunds_that_compete_never_pass_the_charge_together(vendor: Vendor) -> None:
    charges = [vendor.seed_charge("100.00") for _ in range(10)]
    together = threading.Barrier(8)

    def compete(number: int, client: stripe.StripeClient) -> None:
        for charge in charges:
            params: Any = {"charge": charge, "amount": 3000}
            together.wait(10)
            with contextlib.suppress(stripe.InvalidRequestError):
                client.v1.refunds.create(params, {"idempotency_key": f"{charge}:{number}"})

    threads = [threading.Thread(target=compete, args=[number, vendor.client()]) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert Counter(one["target"] for one in vendor.book()) == dict.fromkeys(charges, 3)


def test_a_payment_intent_is_refunded_through_its_charge(vendor: Vendor) -> None:
    intent = vendor.seed_intent("100.00")
    made = vendor.client().v1.refunds.create({"payment_intent": intent, "amount": 500})
    assert made.payment_intent == intent
    assert made.charge == vendor.client().v1.payment_intents.retrieve(intent).latest_charge
    listed = vendor.client().v1.refunds.list({"payment_intent": intent})
    assert [one.id for one in listed.data] == [made.id]


@pytest.mark.parametrize(
    ("currency", "charged", "minor", "moved"),
    [
        ("JPY", "500", 500, "500"),
        ("EUR", "500.00", 500, "5.00"),
        ("KWD", "500.000", 5120, "5.120"),
        ("MGA", "500", 7, "7"),
    ],
)
def test_amounts_are_in_stripes_minor_units(
    vendor: Vendor, currency: str, charged: str, minor: int, moved: str
) -> None:
    refund(vendor, vendor.seed_charge(charged, currency), minor)
    assert [(one["amount"], one["currency"]) for one in vendor.book()] == [(moved, currency)]


def test_three_decimal_amounts_end_in_zero_and_the_krona_is_whole(vendor: Vendor) -> None:
    with pytest.raises(stripe.InvalidRequestError):
        refund(vendor, vendor.seed_charge("500.000", "KWD"), 5124, key="a")
    with pytest.raises(stripe.InvalidRequestError):
        refund(vendor, vendor.seed_charge("500.00", "ISK"), 4010, key="b")
    assert vendor.book() == []


def test_lists_show_the_newest_first_and_page(vendor: Vendor) -> None:
    charge, other = vendor.seed_charge("100.00"), vendor.seed_charge("100.00")
    made = [refund(vendor, charge, 100 + number, key=f"k{number}").id for number in range(5)]
    refund(vendor, other, 100, key="other")
    page = vendor.client().v1.refunds.list({"charge": charge, "limit": 2})
    assert [one.id for one in page.data] == [made[4], made[3]]
    assert page.has_more
    assert [one.id for one in page.auto_paging_iter()] == made[::-1]
    with pytest.raises(stripe.InvalidRequestError):
        vendor.client().v1.refunds.list({"charge": charge, "limit": 101})


def test_the_same_key_answers_from_the_record(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    first, second = refund(vendor, charge, 4000), refund(vendor, charge, 4000)
    assert first.id == second.id
    assert first.last_response is not None and second.last_response is not None
    assert "Idempotent-Replayed" not in first.last_response.headers
    assert second.last_response.headers["Idempotent-Replayed"] == "true"
    assert vendor.moved() == [Decimal(40)]


def test_other_parameters_under_a_key_are_an_error(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    refund(vendor, charge, 4000)
    with pytest.raises(stripe.IdempotencyError) as refused:
        refund(vendor, charge, 4001)
    assert refused.value.http_status == 400
    assert vendor.moved() == [Decimal(40)]


def test_a_key_in_flight_is_a_conflict(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.fault("slow", seconds=30, path="/v1/refunds")
    with pytest.raises(stripe.APIConnectionError):
        vendor.client(timeout=0.2).v1.refunds.create(
            {"charge": charge, "amount": 1}, {"idempotency_key": "k"}
        )
    with pytest.raises(stripe.APIError) as refused:
        vendor.client().v1.refunds.create({"charge": charge, "amount": 1}, {"idempotency_key": "k"})
    assert refused.value.http_status == 409
    assert refused.value.json_body["error"]["code"] == "idempotency_key_in_use"


def test_a_key_past_its_life_executes_again(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    first = refund(vendor, charge, 4000)
    vendor.modes(clock_skew=24 * 3600 - 60)
    assert refund(vendor, charge, 4000).id == first.id
    vendor.modes(clock_skew=24 * 3600 + 60)
    assert refund(vendor, charge, 4000).id != first.id
    assert vendor.moved() == [Decimal(40), Decimal(40)]


def test_a_key_has_at_most_255_characters(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    refund(vendor, charge, 100, key="k" * 255)
    with pytest.raises(stripe.InvalidRequestError, match="255"):
        vendor.client().v1.refunds.create({"charge": charge, "amount": 100}, {"idempotency_key": "k" * 256})


def test_validation_errors_are_not_saved_but_errors_of_execution_are(vendor: Vendor) -> None:
    charge = vendor.seed_charge("10.00")
    with pytest.raises(stripe.InvalidRequestError, match="No such charge"):
        refund(vendor, "ch_missing", 100, key="a")
    refund(vendor, charge, 100, key="a")
    for _ in range(2):
        with pytest.raises(stripe.InvalidRequestError, match="greater than") as refused:
            refund(vendor, charge, 5000, key="b")
    assert refused.value.headers is not None and refused.value.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(("acts", "moved"), [(True, [Decimal(40)]), (False, [])])
def test_a_saved_500_comes_back_for_ever(vendor: Vendor, acts: bool, moved: list[Decimal]) -> None:
    charge = vendor.seed_charge()
    vendor.fault("error", path="/v1/refunds", acts=acts, saved=True)
    for replayed in (None, "true", "true"):
        with pytest.raises(stripe.APIError) as failed:
            refund(vendor, charge, 4000)
        assert failed.value.http_status == 500
        assert (failed.value.headers or {}).get("Idempotent-Replayed") == replayed
    assert vendor.moved() == moved


@pytest.mark.parametrize(("acts", "moved"), [(True, [Decimal(40)] * 2), (False, [Decimal(40)])])
def test_a_500_that_is_not_saved_lets_the_next_request_act(
    vendor: Vendor, acts: bool, moved: list[Decimal]
) -> None:
    charge = vendor.seed_charge()
    vendor.fault("error", path="/v1/refunds", acts=acts, saved=False)
    with pytest.raises(stripe.APIError):
        refund(vendor, charge, 4000)
    refund(vendor, charge, 4000)
    assert vendor.moved() == moved


def test_a_vendor_that_ignores_keys_acts_each_time(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    vendor.modes(keys="ignore")
    assert refund(vendor, charge, 4000).id != refund(vendor, charge, 4000).id
    assert vendor.moved() == [Decimal(40)] * 2


@pytest.mark.parametrize(("mismatch", "moved"), [("ignore_body", [40]), ("new_object", [40, 41])])
def test_another_body_under_a_key_is_taken_as_the_mode_says(
    vendor: Vendor, mismatch: str, moved: list[int]
) -> None:
    charge = vendor.seed_charge()
    vendor.modes(mismatch=mismatch)
    refund(vendor, charge, 4000)
    refund(vendor, charge, 4100)
    assert vendor.moved() == [Decimal(one) for one in moved]


def test_a_forgotten_key_executes_again(vendor: Vendor) -> None:
    charge = vendor.seed_charge()
    refund(vendor, charge, 4000)
    vendor.forget("run-1:pay")
    refund(vendor, charge, 4000)
    assert vendor.moved() == [Decimal(40)] * 2


def test_bad_credentials_and_unknown_parameters_are_refused(vendor: Vendor) -> None:
    with pytest.raises(stripe.AuthenticationError):
        vendor.client().v1.refunds.list({}, {"api_key": "nonsense"})
    unknown: Any = {"charge": vendor.seed_charge(), "amont": 100}
    with pytest.raises(stripe.InvalidRequestError, match="unknown parameter: amont"):
        vendor.client().v1.refunds.create(unknown)
    reply = requests.post(f"{vendor.url}/v1/refunds", data={"charge": "x"}, timeout=5)
    assert reply.status_code == 401
    assert vendor.book() == []
