"""What an answer means: only a definitive one settles, all else is doubt; and whoever lost the lease adds one event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from durable.errors import InDoubt, NotSent, VendorRefused
from durable.models import Run
from durable.states import RunState
from durable.vendor import Call, Receipt
from tests.engine import desk, tools
from tests.engine.scenes import FORTY, refund
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")
LATER_ANSWERS = 12


def settled(run: Run) -> Run:
    """Drive the run and let time pass until it has ended or only a person can help."""
    desk.drive(run)
    for _ in range(LATER_ANSWERS):
        if run.state == RunState.COMPLETED or tools.attention(run):
            break
        tools.later(run, seconds=20)
    return run


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "drop"},
        {"kind": "reset"},
        {"kind": "status", "status": 500},
        {"kind": "status", "status": 503},
        {"kind": "error"},
        {"kind": "error", "acts": True},
        {"kind": "garbage", "form": "html"},
        {"kind": "garbage", "form": "cut"},
        {"kind": "garbage", "form": "empty"},
        {"kind": "garbage", "form": "list"},
        {"kind": "redirect"},
        {"kind": "status", "status": 409, "code": "idempotency_key_in_use"},
        {"kind": "status", "status": 429, "retry_after": 3},
    ],
    ids=lambda fault: " ".join(str(value) for value in fault.values()),
)
def test_whatever_goes_wrong_on_the_wire_a_keyed_effect_ends_applied_once_and_is_never_failed(
    vendor: Vendor, fault: dict[str, Any]
) -> None:
    run = refund(vendor)
    vendor.fault(**fault, method="POST", path="/v1/refunds")
    settled(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY
    assert not {"failed", "in doubt"} & set(tools.kinds(run))


@pytest.mark.parametrize("form", ["other_amount", "other_currency"])
def test_an_answer_that_names_other_money_is_for_a_person(vendor: Vendor, form: str) -> None:
    run = refund(vendor)
    vendor.fault("garbage", form=form, method="POST", path="/v1/refunds")
    settled(run)
    assert desk.effects(run) == {"pay": "in doubt"}


def test_a_time_out_is_doubt_and_the_late_movement_is_found(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vendor needs longer than we wait; its money lands all the same."""
    run = refund(vendor)
    vendor.fault("slow", seconds=0.6, method="POST", path="/v1/refunds")
    monkeypatch.setattr(
        tools.keyed, "facts", replace(tools.keyed.facts, send_within=desk.timedelta(seconds=0.3))
    )
    desk.drive(run)
    assert tools.kinds(run)[:3] == ["intent", "sent", "no answer"]
    vendor.until(lambda: len(vendor.moved()) == 1)
    settled(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY
    assert "failed" not in tools.kinds(run)


def test_a_request_that_arrives_after_we_gave_up_moves_the_money_once(vendor: Vendor) -> None:
    run = refund(vendor)
    vendor.fault("late", seconds=0.3, method="POST", path="/v1/refunds")
    settled(run)
    vendor.until(lambda: len(vendor.moved()) >= 1)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_in_progress_at_the_vendor_is_waited_for_and_never_failed(vendor: Vendor) -> None:
    run = refund(vendor)
    vendor.fault(
        "status", status=409, code="idempotency_key_in_use", method="POST", path="/v1/refunds", times=4
    )
    desk.drive(run)
    assert run.state == RunState.SUSPENDED
    assert tools.attention(run) == []
    for _ in range(6):
        tools.later(run, minutes=5)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_a_refused_repeat_decides_nothing_while_an_earlier_request_is_unanswered(vendor: Vendor) -> None:
    """The first request may still land; the second one's no says nothing about it."""
    run = refund(vendor)
    vendor.fault("late", seconds=4.0, method="POST", path="/v1/refunds")
    vendor.fault("status", status=400, method="POST", path="/v1/refunds")
    desk.drive(run)
    assert desk.effects(run) == {"pay": "pending"}
    assert "failed" not in tools.kinds(run)
    vendor.until(lambda: len(vendor.moved()) == 1)
    settled(run)
    assert desk.effects(run) == {"pay": "applied"}
    assert vendor.moved() == FORTY


def test_a_refused_repeat_is_not_repeated_again_and_ends_before_a_person(vendor: Vendor) -> None:
    run = refund(vendor)
    vendor.fault("hang", seconds=0, method="POST", path="/v1/refunds")
    vendor.fault("status", status=400, method="POST", path="/v1/refunds", times=0)
    settled(run)
    assert desk.effects(run) == {"pay": "in doubt"}
    assert len(vendor.requests("POST", "/v1/refunds")) == 2
    assert tools.effect(run).failure == ""


def test_a_vendor_that_is_away_is_tried_again_and_costs_nothing(vendor: Vendor) -> None:
    run = refund(vendor)
    vendor.stop()
    try:
        desk.drive(run)
        assert run.state == RunState.SUSPENDED
        assert tools.kinds(run) == ["intent", "sent", "not sent"]
    finally:
        vendor.start()
    settled(run)
    assert run.state == RunState.COMPLETED
    assert len(vendor.moved()) <= 1


def test_an_effect_that_never_reached_the_vendor_has_a_young_key_when_it_does(vendor: Vendor) -> None:
    run = refund(vendor)
    vendor.fault("status", status=429, method="POST", path="/v1/refunds")
    desk.drive(run)
    vendor.fault("status", status=503, method="POST", path="/v1/refunds")
    tools.later(run, hours=20)
    settled(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_no_vendor_can_ask_for_more_than_an_hours_patience(vendor: Vendor) -> None:
    run = refund(vendor)
    vendor.fault("status", status=429, retry_after=10**8, method="POST", path="/v1/refunds")
    desk.drive(run)
    tools.later(run, hours=1, seconds=1)
    assert vendor.moved() == FORTY


# What an adapter may hand over.


@pytest.mark.parametrize(
    "bad",
    [
        lambda call, receipt: "fine",
        lambda call, receipt: replace(receipt, id=""),
        lambda call, receipt: replace(receipt, id="x" * 300),
        lambda call, receipt: replace(receipt, facts={"note": "a\x00b"}),
        lambda call, receipt: replace(receipt, facts={"note": "\ud800"}),
        lambda call, receipt: replace(receipt, facts={"much": object()}),
        lambda call, receipt: replace(receipt, at=datetime(2026, 1, 1)),
        lambda call, receipt: replace(receipt, amount=Decimal("NaN")),
        lambda call, receipt: replace(receipt, amount=Decimal("40.001")),
    ],
    ids=["no receipt", "no id", "long id", "NUL", "surrogate", "object", "naive time", "NaN", "too fine"],
)
def test_a_receipt_that_cannot_be_kept_is_doubt_and_is_found_by_the_look_up(
    vendor: Vendor, bad: Callable[[Call, Receipt], Receipt]
) -> None:
    tools.after.append(bad)
    run = refund(vendor)
    desk.drive(run)
    tools.after.clear()
    settled(run)
    assert vendor.moved() == FORTY
    assert desk.effects(run)["pay"] in ("applied", "in doubt")
    assert "failed" not in tools.kinds(run)


@pytest.mark.parametrize(
    "error",
    [
        VendorRefused("c\x00de", "m\ud800ssage"),
        NotSent("a\x00way"),
        InDoubt("l\ud800st"),
        RuntimeError("b\x00g"),
    ],
    ids=["refused", "not sent", "in doubt", "anything"],
)
def test_no_character_in_a_vendors_words_keeps_its_answer_out_of_the_ledger(
    vendor: Vendor, error: Exception
) -> None:
    def fail(call: Call) -> None:
        tools.before.clear()
        raise error

    tools.before.append(fail)
    run = refund(vendor)
    settled(run)
    assert run.state == RunState.COMPLETED
    told = {"VendorRefused": "failed", "NotSent": "not sent"}.get(type(error).__name__, "no answer")
    assert told in tools.kinds(run)
