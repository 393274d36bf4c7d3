"""What every adapter of a vendor must do, whoever the vendor is. The vendor's own book is the judge."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from durable.errors import CannotSay, InDoubt, NotSent, VendorRefused
from durable.vendor import Absent, Candidates, Receipt
from tests.adapters.subjects import KEY, Subject, refunds, releases, reservations
from tests.vendors import Vendor


@pytest.fixture(params=[refunds, reservations, releases], ids=lambda made: made.__name__)
def subject(request: pytest.FixtureRequest, vendor: Vendor) -> Subject:
    made: Callable[[Vendor], Subject] = request.param
    return made(vendor)


UNREADABLE: list[dict[str, Any]] = [
    {"kind": "drop"},
    {"kind": "reset"},
    {"kind": "hang", "seconds": 30},
    {"kind": "hang", "seconds": 30, "acts": True},
    {"kind": "late", "seconds": 30},
    {"kind": "slow", "seconds": 30},
    {"kind": "trickle", "seconds": 30},
    {"kind": "error"},
    {"kind": "error", "acts": True},
    {"kind": "status", "status": 409},
    {"kind": "status", "status": 503},
    {"kind": "redirect"},
    {"kind": "garbage", "form": "html"},
    {"kind": "garbage", "form": "cut"},
    {"kind": "garbage", "form": "empty"},
    {"kind": "garbage", "form": "list"},
]

# What reading can meet: it has no act to be late, slow or half done with.
LAME = [fault for fault in UNREADABLE if fault["kind"] not in ("late", "slow", "error")]
LAME += [{"kind": "status", "status": status} for status in (400, 401, 404, 429, 500)]


def name(fault: dict[str, Any]) -> str:
    return "-".join(str(value) for value in fault.values())


def test_an_act_moves_once_and_its_receipt_says_what(subject: Subject) -> None:
    receipt = subject.act(5)
    (moved,) = subject.moved()
    assert (receipt.id, receipt.key, receipt.target) == (moved["id"], KEY, subject.target)
    assert receipt.at is not None and abs(receipt.at.timestamp() - moved["at"]) <= 1
    assert [one["key"] for one in subject.sent()] == ([KEY] if subject.path == "/v1/refunds" else [None])


@pytest.mark.parametrize("fault", UNREADABLE, ids=name)
def test_whatever_is_no_readable_answer_is_doubt_after_one_request(
    subject: Subject, fault: dict[str, Any]
) -> None:
    subject.vendor.fault(path=subject.path, method="POST", **fault)
    began = time.monotonic()
    with pytest.raises(InDoubt) as doubt:
        subject.act(0.4)
    assert time.monotonic() - began < 2
    assert not doubt.value.saved
    assert len(subject.sent()) == 1


@pytest.mark.parametrize("kind", ["drop", "reset", "trickle"])
def test_what_was_done_before_the_answer_was_lost_is_found(subject: Subject, kind: str) -> None:
    subject.vendor.fault(kind, path=subject.path, method="POST", seconds=30)
    with pytest.raises(InDoubt):
        subject.act(0.4)
    found = subject.find(5)
    assert isinstance(found, Receipt)
    assert (found.id, found.key, found.target) == (subject.moved()[0]["id"], KEY, subject.target)


def test_what_arrives_late_is_missed_first_and_found_then(subject: Subject) -> None:
    subject.vendor.fault("late", path=subject.path, method="POST", seconds=0.3)
    with pytest.raises(InDoubt):
        subject.act(5)
    assert subject.find(5) == Absent()
    subject.vendor.until(lambda: len(subject.moved()) == 1)
    assert isinstance(subject.find(5), Receipt)


def test_a_vendor_that_takes_no_connection_was_sent_nothing(subject: Subject, settings: Any) -> None:
    settings.STRIPE_API_BASE = settings.SHOP_API_BASE = "http://127.0.0.1:1"
    with pytest.raises(NotSent):
        subject.act(5)
    with pytest.raises(CannotSay):
        subject.find(5)
    assert subject.moved() == []


def test_a_name_that_does_not_resolve_was_sent_nothing(subject: Subject, settings: Any) -> None:
    settings.STRIPE_API_BASE = settings.SHOP_API_BASE = "http://vendor.invalid"
    with pytest.raises(NotSent):
        subject.act(5)


def test_a_call_without_time_left_sends_nothing(subject: Subject) -> None:
    with pytest.raises(NotSent):
        subject.act(0)
    assert subject.sent() == []


@pytest.mark.parametrize(("header", "wait"), [(7, timedelta(seconds=7)), (None, None)])
def test_a_429_was_not_executed_and_says_when_to_come_back(
    subject: Subject, header: int | None, wait: timedelta | None
) -> None:
    subject.vendor.fault("status", path=subject.path, method="POST", status=429, retry_after=header)
    with pytest.raises(NotSent) as limited:
        subject.act(5)
    assert limited.value.retry_after == wait
    assert (len(subject.sent()), subject.moved()) == (1, [])


@pytest.mark.parametrize("status", [400, 402, 404])
def test_a_readable_4xx_is_a_definitive_no(subject: Subject, status: int) -> None:
    subject.vendor.fault("status", path=subject.path, method="POST", status=status, code="not_so")
    with pytest.raises(VendorRefused) as refused:
        subject.act(5)
    assert refused.value.code == "not_so"
    assert (len(subject.sent()), subject.moved()) == (1, [])


def test_a_lookup_of_what_never_was_is_a_miss(subject: Subject) -> None:
    assert subject.find(5) == Absent()


def test_a_lookup_that_lags_misses_what_was_done(subject: Subject) -> None:
    subject.act(5)
    subject.vendor.modes(lookup_lag=60)
    # A reservation that isn't shown yet has no cancellation to show either: that is no answer.
    if subject.look == subject.path:
        assert subject.find(5) == Absent()
    else:
        with pytest.raises(CannotSay):
            subject.find(5)


@pytest.mark.parametrize("fault", LAME, ids=name)
def test_a_lookup_that_fails_can_not_say(subject: Subject, fault: dict[str, Any]) -> None:
    subject.act(5)
    subject.vendor.fault(path=subject.look, method="GET", **fault)
    began = time.monotonic()
    with pytest.raises(CannotSay):
        subject.find(0.4)
    assert time.monotonic() - began < 2


def test_a_vendor_that_acted_twice_shows_candidates_not_a_receipt(vendor: Vendor) -> None:
    vendor.modes(keys="ignore")
    for made in (refunds, reservations):
        subject = made(vendor)
        subject.act(5)
        subject.act(5)
        found = subject.find(5)
        assert isinstance(found, Candidates)
        assert {one.id for one in found.receipts} == {one["id"] for one in subject.moved()[-2:]}
