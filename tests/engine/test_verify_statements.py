"""`manage.py verify` reads kept statements of vendors again: what a superuser changed in one is found, and named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from durable.digest import canonical
from durable.models import Difference, LedgerEvent, VendorStatement
from durable.vendor_statements import explaining
from tests.engine.rooted import file, forging, rechain, root_and_keep
from tests.engine.stated import midnight, noon, past_us, refunded, statement
from tests.engine.test_verify import found
from tests.vendors import Vendor

__all__ = ["file"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("kit")]


@pytest.fixture
def made(vendor: Vendor) -> VendorStatement:
    """A statement with two differences, of which one is explained, beside one that is clean."""
    refunded(vendor, noon())
    past_us(vendor, noon(), "25.00")
    past_us(vendor, noon(), "7.00")
    refunded(vendor, noon(2), order="8813")
    statement(midnight(2))
    made = statement()
    explaining.explain(made.pk, [made.found.order_by("pk")[0].pk], actor="rita", reason="by phone")
    root_and_keep()
    return made


def test_statements_that_nobody_has_touched_hold(made: VendorStatement) -> None:
    assert found() == []


CHANGES = {
    "UPDATE durable_difference SET vendor_minor = vendor_minor - 100 WHERE id = {last}":
        "its difference {last} ({receipt}) is not the one that was found",
    "UPDATE durable_difference SET vendor_amount = '1.00' WHERE id = {last}":
        "its difference {last} ({receipt}) is not the one that was found",
    "UPDATE durable_difference SET receipt = 're_other' WHERE id = {last}":
        "its difference {last} (re_other) is not the one that was found",
    "UPDATE durable_difference SET likeness = repeat('0', 64) WHERE id = {last}":
        "its difference {last} ({receipt}) is not the one that was found",
    "UPDATE durable_difference SET target = 'ch_other' WHERE id = {last}":
        "event 2: the statement has another wording of its differences than this event",
    "UPDATE durable_difference SET at = at - interval '1 day' WHERE id = {last}":
        "event 2: the statement has another wording of its differences than this event",
    "DELETE FROM durable_unexplained; DELETE FROM durable_difference WHERE id = {last}":
        "event 2: 1 differences are there that do not make its digest; it was made with 2",
    "UPDATE durable_vendorstatement SET differences = 0, digest = encode(sha256(''), 'hex') WHERE request_id = {made}":
        "event 2: the statement has another number of differences than this event",
    "UPDATE durable_vendorstatement SET start = start + interval '1 hour' WHERE request_id = {made}":
        "event 2: the statement has another beginning than this event",
    "UPDATE durable_vendorstatement SET listed = 7 WHERE request_id = {made}":
        "event 2: the statement has another number of rows at the vendor than this event",
    "UPDATE durable_statementtotal SET vendor_minor = 1 WHERE statement_id = {made}":
        "event 2: the statement has other totals than this event",
    "DELETE FROM durable_statementtotal WHERE statement_id = {made} AND kind = 'at the vendor alone'":
        "event 2: the statement has other totals than this event",
    "UPDATE durable_explanation SET by = 'mallory'":
        "event 3: the explanation of difference {first} is not the one that was given",
    "DELETE FROM durable_explanation":
        "event 3: the explanation that it speaks of is not there",
    "INSERT INTO durable_explanation (difference_id, likeness, by, at) SELECT id, likeness, 'rita', now() "
    "FROM durable_difference WHERE id = {last}":
        "its difference {last} has an explanation, and no event speaks of it",
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_in_a_kept_statement_is_found_and_named(made: VendorStatement, change: str) -> None:
    first, last = Difference.objects.order_by("pk")
    names: dict[str, Any] = {"made": made.pk, "first": first.pk, "last": last.pk, "receipt": last.receipt}
    with forging() as wire:
        wire.execute(change.format(**names).encode())
    lines = found()
    place = f"statement:{made.pk}"
    assert any(line.startswith(place) and line.endswith(CHANGES[change].format(**names)) for line in lines), (
        lines
    )
    assert all(line.startswith(place) for line in lines)
    assert found("--without-payloads") == []


def test_a_statement_that_was_taken_out_whole_is_missed(made: VendorStatement) -> None:
    with forging() as wire:
        for table in ("unexplained", "explanation", "difference", "statementtotal", "vendorstatement"):
            wire.execute(f"DELETE FROM durable_{table}".encode())
    assert [line for line in found() if line.startswith(f"statement:{made.pk} ")] == [
        f"statement:{made.pk} event 2: the statement that it speaks of is not there",
        f"statement:{made.pk} event 3: the explanation that it speaks of is not there",
    ]


def test_a_statement_of_before_its_rows_were_told_holds_and_is_held_to_what_was_told(vendor: Vendor) -> None:
    past_us(vendor, noon())
    made = statement()
    event = LedgerEvent.objects.get(kind="statement made")
    told = {
        name: value
        for name, value in json.loads(event.body).items()
        if name not in ("rows", "tools", "listed")
    }
    with forging() as wire:
        wire.execute(
            "UPDATE durable_ledgerevent SET body = %s WHERE id = %s", [canonical(told).decode(), event.pk]
        )
        rechain(wire)
    root_and_keep()
    assert found() == []
    with forging() as wire:
        wire.execute("UPDATE durable_difference SET vendor_minor = 1")
    (line,) = found()
    assert line.startswith(f"statement:{made.pk}: its difference")
