"""Which statements are made when, what people ask for and explain, and that nobody changes what one says."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from django.db import connection

from durable.errors import CannotSay, Conflict, Invalid
from durable.models import LedgerEvent, StatementRequest, Unexplained, VendorStatement
from durable.vendor import Receipt
from durable.vendor_statements import accounts, explaining, listing, making, matching, requests
from tests.engine import rooted, stated
from tests.engine.stated import (
    ACTOR,
    DAY,
    found,
    midnight,
    noon,
    past_us,
    receipt,
    refunded,
    statement,
)
from tests.together import at_once
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")
WHY = {"actor": "rita", "reason": "the shop refunded it by hand while we were down"}


def test_yesterday_is_due_by_itself_and_days_that_were_missed_are_caught_up(vendor: Vendor) -> None:
    now = midnight(0) + timedelta(hours=3)
    assert requests.plan(now - timedelta(hours=2)) == 0  # too soon after midnight
    assert [requests.plan(now), requests.plan(now)] == [1, 0]
    days = StatementRequest.objects.filter(asked_by="").order_by("start").values_list("start", "end")
    assert list(days) == [(midnight(1), midnight(0))]
    requests.plan(now + 3 * DAY)
    assert [start for start, _ in days.all()] == [midnight(1 - number) for number in range(4)]
    requests.plan(now + 100 * DAY)
    assert len(days.all()) == 4 + requests.CATCH_UP


def test_a_pass_makes_what_is_due_and_leaves_the_rest(vendor: Vendor) -> None:
    past_us(vendor, noon())
    requests.plan(midnight(0) + timedelta(hours=3))
    requests.pass_over()
    [made] = VendorStatement.objects.all()
    assert (made.start, made.request.asked_by, made.differences) == (midnight(1), "", 1)
    with pytest.raises(Conflict, match="made already"):
        making.make(made.pk)


@pytest.mark.parametrize(
    ("period", "field", "rule"),
    [
        ((0, 0), "to", "after the beginning"),
        ((400, 1), "to", "at most 366 days"),
        ((1, -2), "to", "can be looked at from"),
        ((30_000, 29_999), "from", "before 1970"),
        ((0, -2_900_000), "to", "in the future"),
    ],
)
def test_a_period_that_is_none_or_not_over_is_refused(
    vendor: Vendor, period: tuple[int, int], field: str, rule: str
) -> None:
    start, end = (midnight(back) for back in period)
    with pytest.raises(Invalid, match=rule) as refused:
        requests.ask("stripe", "", start, end, **ACTOR)
    assert refused.value.field == field
    assert StatementRequest.objects.count() == 0


def test_of_two_who_ask_for_the_same_at_once_one_is_told_that_it_is_on_its_way(vendor: Vendor) -> None:
    def ask() -> StatementRequest:
        return requests.ask("stripe", "", midnight(1), midnight(0), **ACTOR)

    for number in range(1, 11):
        made = at_once(*[ask] * 4, loses=Conflict)
        assert [type(one) for one in made].count(Conflict) == 3
        assert StatementRequest.objects.filter(asked_by="rita").count() == number
        StatementRequest.objects.update(due_at=None)


def test_one_that_fails_whatever_is_wrong_with_it_keeps_no_other_from_being_made(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = requests.ask("stripe", "", midnight(2), midnight(1), **ACTOR)
    good = requests.ask("stripe", "", midnight(1), midnight(0), **ACTOR)
    write = matching.write

    def fails_over_one(request: StatementRequest, *more: Any) -> VendorStatement:
        if request.pk == bad.pk:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
        return write(request, *more)

    monkeypatch.setattr(matching, "write", fails_over_one)
    assert requests.work() == 1
    assert VendorStatement.objects.get().pk == good.pk
    bad.refresh_from_db()
    assert bad.tries == 1 and bad.due_at is not None and "failed unexpectedly" in bad.trouble


@pytest.mark.parametrize(
    ("id", "amount", "told"),
    [
        ("re_1", Decimal("1E+999999999"), "1E+999999999"),
        ("re_2", Decimal("NaN"), "NaN"),
        ("re_3", Decimal("12.340"), "12.340"),
        ("re_4", None, ""),
    ],
)
def test_whatever_a_vendor_says_of_an_amount_is_kept_as_it_says_it_in_a_few_letters(
    id: str, amount: Decimal | None, told: str
) -> None:
    row = listing._row(Receipt(id, amount, "EUR", at=midnight()))
    assert (row[0], row[3]) == (id, told)


def test_what_a_vendor_lists_without_a_name_makes_no_statement() -> None:
    with pytest.raises(CannotSay, match="without a name"):
        listing._row(Receipt("", Decimal(1), "EUR", at=midnight()))


def test_an_account_that_nobody_can_list_is_refused_and_named(vendor: Vendor) -> None:
    with pytest.raises(Invalid, match="a tool can list: stripe"):
        requests.ask("bank", "", midnight(1), midnight(0), **ACTOR)
    assert "wire_out" in [tool.name for tool in accounts.uncovered()]
    assert [one.name for one in accounts.covered()] == ["stripe"]


def test_an_explanation_holds_for_later_statements_and_is_logged_with_its_words_sealed(
    vendor: Vendor,
) -> None:
    past_us(vendor, noon())
    made = statement()
    one = made.found.get()
    assert explaining.explain(made.pk, [one.pk], **WHY) == 1
    again = statement()
    assert (again.differences, stated.unexplained()) == (1, {})
    with pytest.raises(Conflict, match="has been explained by rita"):
        explaining.explain(again.pk, [again.found.get().pk], actor="ada", reason="me too")
    event = LedgerEvent.objects.get(kind="difference explained")
    assert (event.run_ref, event.effect_key, event.actor) == (
        f"statement:{made.pk}",
        f"difference:{one.pk}",
        "rita",
    )
    assert "by hand" not in event.body


def test_a_newer_statement_about_the_time_asks_in_place_of_the_older(vendor: Vendor) -> None:
    past_us(vendor, noon())
    run = refunded(vendor, noon())
    vendor.modes(lookup_lag=10 * 86400)
    first = statement()
    assert [row[:2] for row in found(first)] == [("in the ledger alone", receipt(run))]
    vendor.modes(lookup_lag=0)
    second = statement(midnight(2), midnight(0))
    assert stated.unexplained() == {second.pk: 1}
    with pytest.raises(Conflict, match="a newer statement about the same time"):
        explaining.explain(first.pk, [first.found.get().pk], **WHY)
    with pytest.raises(Invalid, match="must be one of this statement"):
        explaining.explain(first.pk, [second.found.get().pk], **WHY)
    assert Unexplained.objects.get().statement_id == second.pk


def test_a_statement_is_in_the_log_with_all_its_totals(vendor: Vendor) -> None:
    refunded(vendor, noon())
    past_us(vendor, noon())
    made = statement()
    kinds = LedgerEvent.objects.filter(run_ref=f"statement:{made.pk}").order_by("no")
    assert list(kinds.values_list("kind", "actor")) == [
        ("statement asked", "rita"),
        ("statement made", "interlock"),
    ]
    told = json.loads(kinds.last().body)
    assert (told["differences"], told["digest"]) == (1, made.digest)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT encode(sha256(string_agg(likeness, E'\\n' ORDER BY id)::bytea), 'hex') FROM durable_difference"
        )
        assert cursor.fetchone()[0] == made.digest
    assert [(one["kind"], one["ledger"], one["vendor"]) for one in told["totals"]] == [
        ("at the vendor alone", [0, "0"], [1, "2500"]),
        ("in both", [1, "4000"], [1, "4000"]),
    ]


TABLES = {
    "durable_vendorstatement": "differences",
    "durable_statementtotal": "vendor_minor",
    "durable_difference": "vendor_minor",
    "durable_explanation": "by",
}


@pytest.mark.parametrize("who", ["application", "owner"])
def test_nobody_changes_what_a_statement_says(vendor: Vendor, who: str) -> None:
    past_us(vendor, noon())
    made = statement()
    explaining.explain(made.pk, [made.found.get().pk], **WHY)
    for table, column in TABLES.items():
        for act in (
            f"UPDATE {table} SET {column} = {column}",
            f"DELETE FROM {table}",
            f"TRUNCATE {table} CASCADE",
        ):
            with (
                psycopg.connect(rooted.url(who)) as wire,
                pytest.raises(psycopg.errors.InsufficientPrivilege),
            ):
                wire.execute(act.encode())


def test_the_command_says_what_it_found_and_ends_accordingly(vendor: Vendor) -> None:
    refunded(vendor, noon())
    code, told = rooted.said("statement", "--vendor", "stripe", "--actor", "rita")
    assert code == 0
    assert "in both: 1 with 40.00 EUR in the ledger, 1 with 40.00 EUR at the vendor" in told
    past_us(vendor, noon())
    day = f"{midnight(1):%Y-%m-%d}"
    code, told = rooted.said("statement", "--from", day, "--vendor", "stripe")
    assert (code, "at the vendor alone: 1 with 25.00 EUR at the vendor" in told) == (1, True)
    vendor.fault("status", method="GET", path="/v1/refunds", times=0)
    code, told = rooted.said("statement", "--from", day, "--to", f"{midnight(0):%Y-%m-%d}")
    assert (code, "could not be made: the list of refunds can't be had" in told) == (2, True)
    code, told = rooted.said("statement", "--from", "last week")
    assert (code, "from: must be a day or a moment" in told) == (2, True)
