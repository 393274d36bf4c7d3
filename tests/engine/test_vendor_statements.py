"""The vendor's account of a period held against the ledger. What really moved is read in the vendor's own book."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from durable.adapters import stripe_refunds
from durable.models import (
    Difference,
    Effect,
    LedgerEvent,
    Unexplained,
    VendorStatement,
)
from durable.vendor_statements import making, requests, status
from durable.vendor_statements.listing import NotListed
from tests.engine import desk, stated
from tests.engine.rooted import forging
from tests.engine.stated import ACTOR, DAY, found, midnight, noon, past_us, receipt, refunded, statement, sums
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def test_a_day_on_which_all_went_through_us_is_clean_and_adds_up_to_the_vendors_book(vendor: Vendor) -> None:
    for number, (amount, currency) in enumerate((("40.00", "EUR"), ("90", "JPY"), ("12.340", "KWD"))):
        refunded(vendor, noon(), amount=amount, currency=currency, order=f"88{number}")
    refunded(vendor, noon(), amount="17.50", order="890")
    made = statement()
    assert (made.listed, made.differences, found(made)) == (4, 0, [])
    assert {kind for kind, _ in sums(made)} == {"in both"}
    book = stated.booked(vendor, midnight(1))
    assert book.keys() == {"EUR", "JPY", "KWD"}
    for (_, currency), (ours, ours_minor, theirs, theirs_minor) in sums(made).items():
        assert (ours, ours_minor) == (theirs, theirs_minor) == book[currency]
    assert Unexplained.objects.count() == 0


def test_a_refund_past_us_is_at_the_vendor_alone_and_exact_in_every_currency(vendor: Vendor) -> None:
    refunded(vendor, noon())
    names = [
        past_us(vendor, noon(), *money) for money in (("25.00", "EUR"), ("500", "JPY"), ("1.250", "KWD"))
    ]
    made = statement()
    alone = "at the vendor alone"
    assert sorted(found(made)) == sorted(
        (alone, name, None, minor) for name, minor in zip(names, (2500, 500, 1250), strict=True)
    )
    assert sums(made) == {
        ("in both", "EUR"): (1, 4000, 1, 4000),
        (alone, "EUR"): (0, 0, 1, 2500),
        (alone, "JPY"): (0, 0, 1, 500),
        (alone, "KWD"): (0, 0, 1, 1250),
    }
    assert stated.unexplained() == {made.pk: 3}


def test_a_receipt_that_the_vendor_does_not_show_is_in_the_ledger_alone(vendor: Vendor) -> None:
    run = refunded(vendor, noon())
    vendor.modes(lookup_lag=10 * 86400)
    made = statement()
    assert found(made) == [("in the ledger alone", receipt(run), 4000, None)]
    assert made.found.get().effect_key == f"{run.ref}:pay"


def test_a_receipt_that_was_mistyped_stands_beside_what_the_vendor_has_under_our_key(vendor: Vendor) -> None:
    run = refunded(vendor, noon())
    right = receipt(run)
    Effect.objects.filter(run=run).update(receipt_id="re_typed")
    assert sorted(found(statement())) == [
        ("another receipt", right, 4000, 4000),
        ("in the ledger alone", "re_typed", 4000, None),
    ]


def test_a_refund_that_failed_at_the_bank_days_later_differs_in_its_amount(vendor: Vendor) -> None:
    run = refunded(vendor, noon())
    assert statement().differences == 0
    vendor.fails(receipt(run))
    made = statement()
    assert found(made) == [("amounts differ", receipt(run), 4000, 0)]
    assert sum(one["amount_minor"] for one in vendor.book("payments")) == 0


@pytest.mark.parametrize("body", ["'no json'", "repeat('[', 100000)"])
def test_an_event_that_was_changed_from_outside_keeps_no_day_from_being_held_against_the_vendor(
    vendor: Vendor, body: str
) -> None:
    run = refunded(vendor, noon())
    applied = LedgerEvent.objects.get(run_ref=run.ref, kind="applied")
    write = "UPDATE durable_ledgerevent SET body = {} WHERE id = %s"
    with forging() as wire:
        wire.execute(write.format(body).encode(), [applied.pk])
    vendor.fails(receipt(run))
    assert found(statement()) == [("amounts differ", receipt(run), 4000, 0)]
    with forging() as wire:  # the chains are checked after each test
        wire.execute(write.format("%s").encode(), [applied.body, applied.pk])


def test_an_act_that_is_in_doubt_with_us_is_no_bypass(vendor: Vendor) -> None:
    desk.order(vendor)
    vendor.fault("drop", method="POST", path="/v1/refunds", times=0)
    stated.vendors_clock(vendor, noon())
    vendor.modes(lookup_lag=10 * 86400)
    run = desk.drive(desk.start())
    vendor.modes(clock_skew=0, lookup_lag=0)
    assert desk.effects(run) == {"pay": "pending"}
    made = statement()
    assert [(row[0], row[2], row[3]) for row in found(made)] == [("in doubt with us", 4000, 4000)]
    assert sums(made) == {("in doubt with us", "EUR"): (0, 0, 1, 4000)}

    Effect.objects.filter(run=run).update(state="failed")
    assert [row[0] for row in found(statement())] == ["not applied with us"]
    Effect.objects.filter(run=run).update(state="pending")


def test_a_key_that_this_ledger_does_not_know_is_told(vendor: Vendor) -> None:
    past_us(vendor, noon(), metadata={"interlock_key": "run-elsewhere:pay"})
    one = statement().found.get()
    assert (one.kind, one.vendor_key, one.effect_key) == ("at the vendor alone", "run-elsewhere:pay", "")


def test_what_the_vendor_books_just_after_midnight_is_missing_on_no_day(vendor: Vendor) -> None:
    edge = midnight(1)
    little = timedelta(minutes=20)  # and not a second: the vendor's clock goes on
    refunded(vendor, edge - little, booked=edge + little, order="1")
    refunded(vendor, edge + little, booked=edge - little, order="2")
    before, after = statement(edge - DAY), statement(edge)
    assert (before.differences, after.differences) == (0, 0)
    expected = {("in both", "EUR"): (1, 4000, 1, 4000), ("beside the period", "EUR"): (1, 4000, 0, 0)}
    assert sums(before) == sums(after) == expected


def test_what_was_in_doubt_for_days_is_looked_for_where_it_was_sent(vendor: Vendor) -> None:
    run = refunded(vendor, noon(1), booked=noon(4))
    stated.settled(run, noon(1), sent=noon(4))
    assert statement().differences == 0
    stated.settled(run, noon(1), sent=noon(2))  # the ledger claims that nothing left before
    assert [row[0] for row in found(statement())] == ["in the ledger alone"]


def test_every_page_of_the_vendors_list_is_read_once(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stripe_refunds, "PAGE", 2)
    for count in (4, 5):  # the last page is full, then it is not
        while len(vendor.book("payments")) < count:
            past_us(vendor, noon())
        made = statement()
        assert sorted(row[1] for row in found(made)) == sorted(one["id"] for one in vendor.book("payments"))
    asked = vendor.requests("GET", "/v1/refunds")
    assert len(asked) == 2 + 3


def test_only_what_lies_in_the_period_by_the_vendors_clock_counts(vendor: Vendor) -> None:
    first = past_us(vendor, midnight(1))
    past_us(vendor, midnight(0))
    past_us(vendor, midnight(1) - timedelta(minutes=20))
    assert [row[1] for row in found(statement())] == [first]


@pytest.mark.parametrize("kind", ["status", "drop", "garbage"])
def test_a_vendor_that_fails_in_the_middle_gives_no_statement_and_the_next_try_makes_it(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(stripe_refunds, "PAGE", 1)
    name = past_us(vendor, noon())
    past_us(vendor, noon())
    request = requests.ask("stripe", "", midnight(1), midnight(0), **ACTOR)
    vendor.fault(kind, method="GET", path="/v1/refunds", after=1)
    assert requests.attempt(request.pk) is None
    assert (VendorStatement.objects.count(), Difference.objects.count()) == (0, 0)
    [(asked_by, tries, trouble)] = stated.waiting()
    assert (asked_by, tries) == ("rita", 1)
    assert trouble.startswith("the list of refunds can't be had")
    assert [(one.id, one.trouble) for one in status.read().failing] == [(request.pk, trouble)]
    assert requests.due() == []  # it is put off

    made = requests.attempt(request.pk)
    assert made is not None and name in [row[1] for row in found(made)]
    assert (stated.waiting(), status.read().failing) == ([], [])


def test_without_a_credential_it_says_so_and_asks_nobody(vendor: Vendor, settings: Any) -> None:
    settings.STRIPE_API_KEY = ""
    request = requests.ask("stripe", "", midnight(1), midnight(0), **ACTOR)
    with pytest.raises(NotListed, match="STRIPE_API_KEY"):
        making.make(request.pk)
    assert vendor.requests("GET", "/v1/refunds") == []
