"""The sweeper's look-ups: of what is in doubt, and of what was sent by a run that now rests at something else."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from durable import looking, recovery, runs, verdicts
from durable.models import Effect, Run, Wait
from durable.models.fields import Clock
from durable.states import RunState
from durable.vendor import Call, LookupAnswer, Receipt
from tests.engine import desk, tools
from tests.engine.scenes import FORTY, WHY, doubtful, refund
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def resting(vendor: Vendor, stop: Callable[[Run], object], *, landed: bool = True) -> Run:
    """A run whose request was never answered, and which rests at something else before it looks again."""
    vendor.modes(keys="ignore", lookup_lag=10_000)
    vendor.fault("drop" if landed else "hang", method="POST", path="/v1/refunds", seconds=0)
    run = desk.drive(refund(vendor, tools.unkeyed))
    assert desk.effects(run) == {"pay": "pending"}
    stop(run)
    tools.later(run, seconds=10)
    assert desk.effects(run) == {"pay": "pending"} and run.state == RunState.SUSPENDED
    return run


def hold(run: Run) -> None:
    runs.hold(run.ref, actor="olga", reason="wait")


def past_the_deadline(run: Run) -> None:
    desk.time_passes(days=31)


def test_what_a_held_run_has_sent_is_found_while_it_is_held(vendor: Vendor) -> None:
    run = resting(vendor, hold)
    vendor.modes(lookup_lag=0)
    desk.time_passes(minutes=10)
    recovery.sweep()
    assert desk.effects(run) == {"pay": "applied"} and tools.kinds(run)[-1] == "adopted"
    run.refresh_from_db()
    assert (run.held, run.state) == (True, RunState.SUSPENDED)
    runs.release(run.ref, actor="olga", reason="go")
    assert desk.drive(run).state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_what_can_not_be_found_of_a_run_that_rests_goes_before_a_person(vendor: Vendor) -> None:
    run = resting(vendor, hold, landed=False)
    desk.time_passes(minutes=10)
    recovery.sweep()
    assert desk.effects(run) == {"pay": "in doubt"}
    assert any("shows nothing of ours" in sentence for sentence in tools.attention(run))


def test_a_run_past_its_deadline_still_learns_what_it_has_sent(vendor: Vendor) -> None:
    run = resting(vendor, past_the_deadline)
    vendor.modes(lookup_lag=0)
    desk.time_passes(minutes=10)
    recovery.sweep()
    assert desk.effects(run) == {"pay": "applied"}


def test_what_its_own_run_will_look_up_is_left_to_it(vendor: Vendor) -> None:
    vendor.modes(keys="ignore", lookup_lag=10_000)
    vendor.fault("drop", method="POST", path="/v1/refunds")
    run = desk.drive(refund(vendor, tools.unkeyed))
    Effect.objects.filter(run=run).update(next_look_at=Clock())
    assert tools.effect(run).next_look_at and run.state == RunState.SUSPENDED
    assert list(looking.due()) == []
    Wait.objects.filter(run=run).update(step="rest")
    assert list(looking.due()) == [tools.effect(run)]


def test_a_no_that_comes_while_the_vendor_shows_the_receipt_raises_an_alarm(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweeper asks, a person says that it did not happen, and the vendor's answer says that it did."""
    run = doubtful(vendor, quiet=True)

    def look(call: Call) -> LookupAnswer:
        desk.meanwhile(lambda: verdicts.did_not(call.key, **WHY))
        return Receipt(vendor.book()[0]["id"], Decimal("40.00"), "EUR", key=call.key)

    monkeypatch.setattr(tools.opaque, "lookup_function", look)
    desk.time_passes(hours=1)
    recovery.sweep()
    assert desk.effects(run) == {"pay": "withdrawn"}
    (told,) = tools.attention(run)
    assert told.startswith("conflict: ") and "but it is withdrawn: look what really moved" in told


def test_a_receipt_that_another_effect_has_is_shown_to_people(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = doubtful(vendor, quiet=True)
    vendor.modes(keys="honour")
    other = desk.drive(refund(vendor, tools.keyed))
    taken = tools.effect(other).receipt_id
    monkeypatch.setattr(tools.opaque, "lookup_function", lambda call: Receipt(taken, Decimal("40.00"), "EUR"))
    desk.time_passes(hours=1)
    recovery.sweep()
    assert desk.effects(run) == {"pay": "in doubt"}
    assert "belongs to another effect" in tools.attention(run)[0]
