"""Reconciling in a run, and by the sweeper. The rule itself is in `test_judged.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.db import OperationalError

from durable import recovery, waits
from durable.ledger import outcome
from durable.models import Run
from durable.states import RunState, WaitKind
from durable.vendor import Receipt
from tests.engine import desk, people, tools
from tests.engine.scenes import FORTY
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def unanswered(vendor: Vendor, tool: Any = tools.unkeyed) -> Run:
    """The refund landed, the answer was lost, and the vendor's look-up does not show it yet."""
    vendor.modes(keys="ignore", lookup_lag=10_000)
    vendor.fault("drop", method="POST", path="/v1/refunds")
    tools.asks((tool, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    return desk.drive(tools.start())


def test_a_miss_inside_the_lag_is_no_proof_and_the_refund_is_adopted_once_it_shows(vendor: Vendor) -> None:
    run = unanswered(vendor)
    for _ in range(3):
        tools.later(run, seconds=2)
        assert desk.effects(run) == {"pay": "pending"}
    vendor.modes(lookup_lag=0)
    tools.later(run, seconds=10)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY
    assert len(vendor.requests("POST", "/v1/refunds")) == 1


def test_what_a_person_is_asked_about_is_still_looked_up_and_adopted_by_the_sweeper(vendor: Vendor) -> None:
    run = unanswered(vendor)
    for _ in range(8):
        tools.later(run, seconds=20)
    assert desk.effects(run) == {"pay": "in doubt"}
    vendor.modes(lookup_lag=0)
    desk.time_passes(hours=1)
    recovery.sweep()
    assert desk.effects(run) == {"pay": "applied"}
    assert waits.open_waits(run, WaitKind.ATTENTION) == []
    assert desk.drive(run).state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_a_vendor_that_cannot_say_for_two_hours_bothers_nobody_and_all_settle_after(vendor: Vendor) -> None:
    vendor.modes(keys="ignore")
    outage = []
    vendor.fault("drop", times=5, method="POST", path="/v1/refunds")
    vendor.fault("status", status=503, times=0, method="GET", path="/v1/refunds")
    for name in "abcde":
        args = {"charge": tools.charge(vendor), "amount": Decimal("40.00")}
        tools.asks((tools.unkeyed, args), name=name)
        outage.append(desk.drive(tools.start(name=name)))
    for _ in range(12):
        for run in outage:
            tools.later(run, minutes=2)
    assert [tools.attention(run) for run in outage] == [[]] * 5
    vendor.clear_faults()
    for run in outage:
        tools.later(run, minutes=10)
    assert {run.state for run in outage} == {"completed"}
    assert vendor.moved() == FORTY * 5


@pytest.fixture
def taken(vendor: Vendor) -> Iterator[str]:
    """The receipt of another effect."""
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    yield tools.effect(desk.drive(tools.start())).receipt_id


def test_a_found_receipt_that_another_effect_has_is_for_a_person_and_stops_no_sweep(
    vendor: Vendor, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendor.modes(keys="ignore")
    args = {"charge": tools.charge(vendor), "amount": Decimal("40.00")}
    found = Receipt(taken, Decimal("40.00"), "EUR")
    monkeypatch.setattr(tools.unkeyed, "lookup_function", lambda call: found)
    vendor.fault("drop", method="POST", path="/v1/refunds")
    tools.asks((tools.unkeyed, args))
    run = desk.drive(tools.start())
    assert "belongs to another effect" in tools.attention(run)[0]
    desk.time_passes(hours=1)
    assert set(recovery.sweep()) >= {"doubts", "hints"}
    assert desk.effects(run) == {"pay": "in doubt"}


@pytest.mark.parametrize("bug", [lambda: 1 // 0, lambda: "fine"], ids=["raises", "is no receipt"])
def test_a_look_up_that_blows_up_is_an_inability_to_say(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, bug: Callable[[], object]
) -> None:
    monkeypatch.setattr(tools.unkeyed, "lookup_function", lambda call: bug())
    run = unanswered(vendor)
    tools.later(run, minutes=10)
    assert desk.effects(run) == {"pay": "pending"}
    assert tools.kinds(run)[-1] == "looked up"
    assert tools.attention(run) == []


def test_an_outcome_that_could_not_be_written_is_found_and_never_told_as_a_failure(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database refuses the outcome; the money has moved."""

    def full(*_: Any, **__: Any) -> None:
        raise OperationalError("no space left on device")

    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    with monkeypatch.context() as broken:
        broken.setattr(outcome, "apply_at_once", full)
        run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "pending"} and tools.got == []
    tools.later(run, minutes=5)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY
    assert people.gates(run) == []
