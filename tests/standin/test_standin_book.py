"""The book outlives its process, whatever ends it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import stripe

from tests.vendors import ROOT, Vendor


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Vendor]:
    """A stand-in that this test may kill."""
    running = Vendor(tmp_path / "data" / "book.jsonl")
    running.start()
    yield running
    running.stop()


def pay(vendor: Vendor, charge: str, amount: int, key: str) -> stripe.Refund:
    params: Any = {"charge": charge, "amount": amount}
    return vendor.client().v1.refunds.create(params, {"idempotency_key": key})


def test_a_killed_vendor_knows_what_moved_and_which_keys_it_answered(own: Vendor) -> None:
    charge = own.seed_charge("100.00")
    made = pay(own, charge, 4000, "k")
    own.kill()
    own.start()
    assert pay(own, charge, 4000, "k").id == made.id
    assert own.moved() == [Decimal(40)]
    with pytest.raises(stripe.InvalidRequestError, match="greater than"):
        pay(own, charge, 6001, "other")


def test_a_torn_last_line_is_as_if_it_had_never_been(own: Vendor) -> None:
    charge = own.seed_charge("100.00")
    pay(own, charge, 1000, "a")
    pay(own, charge, 2000, "b")
    own.kill()
    whole = own.path.read_bytes()
    own.path.write_bytes(whole[:-9])
    own.start()
    assert own.moved() == [Decimal(10)]
    pay(own, charge, 2000, "b")
    own.kill()
    own.start()
    assert own.moved() == [Decimal(10), Decimal(20)]


def test_a_book_with_a_hole_stops_the_start_with_one_line(own: Vendor, tmp_path: Path) -> None:
    charge = own.seed_charge("100.00")
    pay(own, charge, 1000, "a")
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"not json\n" + own.path.read_bytes())
    command = [sys.executable, "-m", "standin", "--port", "0", "--book", str(bad)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1 and "unreadable line" in ended.stderr


def test_a_port_that_is_taken_stops_the_start_with_one_line(own: Vendor, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "standin", "--port", str(own.port), "--book", str(tmp_path / "b")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1 and "can't start" in ended.stderr


def test_a_signal_stops_it_cleanly_even_while_a_request_hangs(own: Vendor) -> None:
    charge = own.seed_charge("100.00")
    own.fault("hang", path="/v1/refunds", seconds=600)
    params: Any = {"charge": charge, "amount": 1}
    with pytest.raises(stripe.APIConnectionError):
        own.client(timeout=0.2).v1.refunds.create(params)
    assert own.stop() == 0
    own.start()


def test_a_reset_forgets_all_and_stays_forgotten(own: Vendor) -> None:
    pay(own, own.seed_charge("100.00"), 1000, "a")
    own.reset()
    own.kill()
    own.start()
    assert own.book() == []
    pay(own, own.seed_charge("100.00"), 2000, "a")
    assert own.moved() == [Decimal(20)]
