"""Statements at their edges: periods that touch, what several do at once, and one whose answer can't be told."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from durable.errors import Conflict
from durable.models import Effect, Explanation, LedgerEvent, StatementRequest, VendorStatement
from durable.vendor import Receipt
from durable.vendor_statements import accounts, explaining, listing, making, requests
from tests.engine import stated
from tests.engine.stated import ACTOR, DAY, found, midnight, noon, past_us, receipt, refunded, statement, sums
from tests.together import at_once
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")
INSTANT = timedelta(microseconds=1)


def listed(monkeypatch: pytest.MonkeyPatch, *rows: Receipt) -> None:
    """Let the vendor list just these, at moments to the microsecond."""

    def add(account: Any, since: Any, until: Any) -> None:
        if found := [listing._row(one) for one in rows if one.at is not None and since <= one.at < until]:
            listing._add(found)

    monkeypatch.setattr(listing, "ask", add)


def refund(id: str, at: Any, amount: Decimal = Decimal("1.00")) -> Receipt:
    return Receipt(id, amount, "EUR", at=at)


def test_of_two_periods_that_touch_each_moment_of_the_vendors_is_in_one(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    edge = midnight(1)
    listed(monkeypatch, refund("re_last", edge - INSTANT), refund("re_edge", edge))
    before, after = statement(edge - DAY), statement(edge)
    assert [row[1] for row in found(before)] == ["re_last"]
    assert [row[1] for row in found(after)] == ["re_edge"]


def test_of_two_periods_that_touch_each_moment_of_ours_is_in_one(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    edge = midnight(1)
    last, first = refunded(vendor, noon(), order="1"), refunded(vendor, noon(), order="2")
    stated.settled(last, edge - INSTANT)
    stated.settled(first, edge)
    listed(monkeypatch)
    before, after = statement(edge - DAY), statement(edge)
    assert [row[:2] for row in found(before)] == [("in the ledger alone", receipt(last))]
    assert [row[:2] for row in found(after)] == [("in the ledger alone", receipt(first))]


@pytest.mark.parametrize("aside", [-INSTANT, DAY])
def test_what_the_vendor_books_at_the_very_edge_is_beside_the_period_and_no_difference(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, aside: timedelta
) -> None:
    start = midnight(1)
    run = refunded(vendor, noon())
    listed(monkeypatch, Receipt(receipt(run), Decimal("40.00"), "EUR", at=start + aside))
    made = statement(start)
    assert made.differences == 0
    assert sums(made) == {("beside the period", "EUR"): (1, 4000, 0, 0)}


@pytest.mark.parametrize("says", [Decimal("40.001"), None])
def test_an_amount_that_no_minor_units_tell_is_equal_to_none_of_ours(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, says: Decimal | None
) -> None:
    run = refunded(vendor, noon())
    listed(monkeypatch, Receipt(receipt(run), says, "EUR", at=noon()))
    assert found(statement()) == [("amounts differ", receipt(run), 4000, None)]


def test_what_moved_by_the_event_counts_and_not_what_was_let_out(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = refunded(vendor, noon())  # the event that has the receipt says 40.00
    Effect.objects.filter(run=run).update(amount_minor=5_000)
    listed(monkeypatch, Receipt(receipt(run), Decimal("40.00"), "EUR", at=noon()))
    assert sums(statement()) == {("in both", "EUR"): (1, 4000, 1, 4000)}
    listed(monkeypatch)
    assert found(statement()) == [("in the ledger alone", receipt(run), 4000, None)]


def test_a_newer_statement_of_fewer_tools_takes_over_nothing(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    past_us(vendor, noon())
    first, account = statement(), accounts.account("stripe")
    another = copy(account.tools[0])
    another.name = "another"
    monkeypatch.setattr(making, "account_of", lambda *_: replace(account, tools=(another,)))
    second = statement()
    assert stated.unexplained() == {first.pk: 1, second.pk: 1}


def test_the_receipt_of_another_vendors_act_is_no_match(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = refunded(vendor, noon())
    Effect.objects.filter(run=run).update(vendor="another")
    listed(monkeypatch, refund(receipt(run), noon()))
    assert [row[0] for row in found(statement())] == ["at the vendor alone"]


def test_a_statement_is_made_once_however_many_make_it(vendor: Vendor) -> None:
    past_us(vendor, noon())
    request = requests.ask("stripe", "", midnight(1), midnight(0), **ACTOR)
    made = at_once(*[lambda: making.make(request.pk)] * 4, loses=Conflict)
    assert [isinstance(one, Conflict) for one in made].count(False) == 1
    assert len(vendor.requests("GET", "/v1/refunds")) == 1  # who loses has asked nobody
    assert VendorStatement.objects.get().differences == 1
    assert LedgerEvent.objects.filter(kind="statement made").count() == 1


def test_a_difference_is_explained_once_however_many_explain_it(vendor: Vendor) -> None:
    for number in range(1, 6):
        past_us(vendor, noon())
        made = statement()
        last = made.open.get().difference_id
        explain = partial(explaining.explain, made.pk, [last], reason="by hand", **ACTOR)
        told = at_once(explain, explain, explain, loses=Conflict)
        assert told.count(1) == 1
        assert Explanation.objects.count() == number
        assert LedgerEvent.objects.filter(kind="difference explained").count() == number


def test_the_pause_after_each_failure_doubles_up_to_an_hour_however_often_it_fails(vendor: Vendor) -> None:
    request = requests.ask("stripe", "", midnight(1), midnight(0), **ACTOR)
    pauses = []
    for tries in (0, 1, 5, 6, 2_000):
        StatementRequest.objects.filter(pk=request.pk).update(tries=tries, failing_since=None)
        with transaction.atomic():
            requests._put_off(request.pk, "no")
        request.refresh_from_db()
        assert request.due_at is not None and request.failing_since is not None
        pauses.append(round((request.due_at - request.failing_since).total_seconds() / 60))
    assert pauses == [1, 2, 32, 60, 60]


def test_what_is_made_meanwhile_is_not_put_off_again(vendor: Vendor) -> None:
    made = statement()
    with transaction.atomic():
        requests._put_off(made.pk, "no")
    request = StatementRequest.objects.get(pk=made.pk)
    assert (request.due_at, request.tries, request.trouble) == (None, 0, "")
