"""Reconciling: what a look-up says, and what time and the tool's facts make of it. The rule itself, and the sweeper."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import OperationalError

from durable import reconcile, recovery, waits
from durable.errors import CannotSay
from durable.ledger import Ask, Place, outcome
from durable.models import Effect, Run
from durable.reconcile import Adopt, Doubt, LookAgain, SendAgain, judge
from durable.states import RunState, WaitKind
from durable.vendor import Absent, Candidates, Receipt
from tests.engine import desk, people, tools
from tests.engine.scenes import FORTY
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")
ARGS = {"charge": "ch_1", "amount": Decimal("40.00")}
RECEIPT = Receipt("re_1", Decimal("40.00"), "EUR", target="ch_1", key="run-t:pay")
STRANGER = Receipt("re_2", Decimal("40.00"), "EUR")
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def sent(ago: timedelta, **more: Any) -> Effect:
    """An effect whose one request began so long ago; it had ten seconds."""
    at = NOW - ago
    columns = {"key": "run-t:pay", "sends": 1, "open_sends": 1, "recorded_at": at, "first_sent_at": at}
    return Effect(**{**columns, "last_sent_at": at, "send_by": at + timedelta(seconds=10), **more})


def verdict(tool: Any, answer: Any, ago: timedelta, *, may_send: bool = True, **more: Any) -> Any:
    ask = Ask.of(tool, ARGS, Place("pay", 1, 1))
    return judge(sent(ago, **more), ask, answer, NOW, may_send=may_send)


SECONDS, HOURS = timedelta(seconds=1), timedelta(hours=1)
OURS = Candidates((RECEIPT, RECEIPT))
THEIRS = Candidates((STRANGER,))
MUTE = CannotSay("away")


@pytest.mark.parametrize(
    ("tool", "answer", "ago", "follows"),
    [
        (tools.keyed, RECEIPT, SECONDS, Adopt),
        (tools.unkeyed, RECEIPT, 100 * HOURS, Adopt),
        (tools.keyed, Absent(), SECONDS, SendAgain),
        (tools.keyed, MUTE, SECONDS, SendAgain),
        (tools.keyed, None, SECONDS, SendAgain),
        (tools.keyed, Absent(), 12 * HOURS - SECONDS, SendAgain),
        (tools.keyed, Absent(), 12 * HOURS, Doubt),
        (tools.keyed, MUTE, 12 * HOURS, Doubt),
        (tools.keyed_briefly, Absent(), timedelta(minutes=7, seconds=29), SendAgain),
        (tools.keyed_briefly, Absent(), timedelta(minutes=7, seconds=30), Doubt),
        (tools.keyed, OURS, SECONDS, Doubt),
        (tools.keyed, THEIRS, SECONDS, Doubt),
        (tools.unkeyed, THEIRS, HOURS, Doubt),
        (tools.unkeyed, Absent(), 44 * SECONDS, LookAgain),
        (tools.unkeyed, Absent(), 45 * SECONDS, Doubt),
        (tools.unkeyed, MUTE, 4 * HOURS - SECONDS, LookAgain),
        (tools.unkeyed, MUTE, 4 * HOURS, Doubt),
        (tools.opaque, None, SECONDS, Doubt),
    ],
    ids=lambda value: getattr(value, "name", None) or str(value)[:30],
)
def test_what_a_look_up_says_is_weighed_against_time_and_facts(
    tool: Any, answer: Any, ago: timedelta, follows: type
) -> None:
    assert isinstance(verdict(tool, answer, ago), follows)


@pytest.mark.parametrize("answer", [Absent(), MUTE, None], ids=str)
def test_a_saved_error_ends_repeats(answer: Any) -> None:
    assert not isinstance(verdict(tools.keyed, answer, SECONDS, error_saved=True), SendAgain)


@pytest.mark.parametrize("answer", [Absent(), MUTE, None], ids=str)
def test_a_run_that_is_to_stop_sends_nothing_again(answer: Any) -> None:
    assert not isinstance(verdict(tools.keyed, answer, SECONDS, may_send=False), SendAgain)


def test_a_repeat_waits_longer_each_time_counted_from_the_last_send() -> None:
    pauses = [verdict(tools.keyed, None, timedelta(0), sends=n).pause for n in range(1, 6)]
    assert pauses[0] == timedelta(0)
    for n, pause in enumerate(pauses[1:], 1):
        assert 0.25 * 2**n <= pause.total_seconds() <= 0.5 * 2**n
    assert verdict(tools.keyed, None, HOURS, sends=20).pause == timedelta(0)


def test_no_pause_is_longer_than_five_minutes() -> None:
    assert max(reconcile.pause(n) for n in range(100)) <= timedelta(minutes=5)


# In a run.


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


def test_a_look_up_that_blows_up_is_an_inability_to_say(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(call: Any) -> Any:
        raise ZeroDivisionError("a bug in the adapter")

    monkeypatch.setattr(tools.unkeyed, "lookup_function", broken)
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
