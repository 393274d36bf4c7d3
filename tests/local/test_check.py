"""`up --check` believes the vendor's own process, and says so when the ledger tells another story."""

from __future__ import annotations

from decimal import Decimal

import pytest

from local import audit, check
from local.audit import Entry
from local.vendor import Vendor as Client
from tests.engine import desk
from tests.vendors import Vendor, vendor, vendor_process

__all__ = ["vendor", "vendor_process"]


def entry(
    key: str = "run-1:pay", amount: str = "40.00", receipt: str = "re_1", currency: str = "EUR"
) -> Entry:
    return Entry(key, receipt, Decimal(amount), currency)


def wrong(book: list[Entry], ledger: list[Entry]) -> set[str]:
    return {row.wrong for row in audit.compare(book, ledger)}


def test_the_same_on_both_sides_agrees() -> None:
    assert wrong([entry()], [entry()]) == {""}


def test_each_way_to_differ_has_its_own_words() -> None:
    assert wrong([entry()], []) == {"moved, and not in the ledger"}
    assert wrong([], [entry()]) == {"in the ledger, and never moved"}
    assert wrong([entry(), entry(receipt="re_2")], [entry()]) == {"moved 2 times"}
    assert wrong([entry()], [entry(), entry()]) == {"2 times in the ledger"}
    assert wrong([entry()], [entry(amount="4.00")]) == {"another amount in the ledger"}
    assert wrong([entry()], [entry(receipt="re_2")]) == {"another receipt in the ledger"}
    assert wrong([entry()], [entry(currency="USD")]) == {"another currency in the ledger"}


@pytest.mark.django_db(transaction=True)
def test_a_run_that_did_what_it_says_agrees(vendor: Vendor, capsys: pytest.CaptureFixture[str]) -> None:
    desk.order(vendor)
    desk.drive(desk.start())
    desk.drive(desk.start(wants="replacement"))

    assert check.hold_against(Client(vendor.url)) == 0
    said = capsys.readouterr().out
    assert "agree in all 2 entries" in said
    assert "moved at the vendor: 40.00 EUR" in said


@pytest.mark.django_db(transaction=True)
def test_money_that_moved_behind_the_product_fails_the_check(
    vendor: Vendor, capsys: pytest.CaptureFixture[str]
) -> None:
    charge = vendor.seed_charge("40.00", "EUR")
    vendor.seed_order("8812", "40.00", "EUR", charge=charge)
    desk.drive(desk.start(amount="10.00"))
    Client(vendor.url).refund(charge, "5.00", "EUR", "somebody-else")

    assert check.hold_against(Client(vendor.url)) == 1
    said = capsys.readouterr().out
    assert "moved, and not in the ledger" in said
    assert "DISAGREE in 1 of 2 entries" in said


@pytest.mark.django_db(transaction=True)
def test_a_check_that_has_seen_nothing_move_does_not_pass(vendor: Vendor) -> None:
    assert check.hold_against(Client(vendor.url)) == 1
