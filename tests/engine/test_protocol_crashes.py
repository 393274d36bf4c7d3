"""A crash at each point of the protocol, for each class of vendor: money moves at most once, nothing is left hanging.

The point raises what nobody catches, as a killed process would leave it; then the lease runs out and the run is driven
again, past every timer, until it has ended or waits for a person.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from durable import faults
from durable.models import Run
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.engine.scenes import Killed, die
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")

ROUNDS = 30
#: Points that a run with one ungated effect passes; the others belong to gates, commands and lost leases.
POINTS = (
    "claim.before_commit", "claim.after_commit", "intent.before_commit", "intent.after_commit",
    "vendor.before_call", "vendor.after_call", "outcome.before_commit", "outcome.after_commit",
    "checkpoint.before_commit", "checkpoint.after_commit", "end.before_commit", "end.after_commit",
)  # fmt: skip
#: Points that are passed only where the answer is lost, and the vendor asked.
LOST = ("lookup.before_call", "lookup.after_call", "adopt.before_commit", "adopt.after_commit")
#: Points of an effect that people let out.
GATED = ("suspend.before_commit", "suspend.after_commit", "sent.before_commit", "sent.after_commit")


def drive(run: Run) -> bool:
    """Drive once; whether the process died."""
    try:
        desk.drive(run)
    except Killed:
        run.refresh_from_db()
        return True
    return False


def to_the_end(run: Run) -> None:
    """Let leases and timers run out and drive on, until the run has ended or a person must act."""
    for _ in range(ROUNDS):
        if run.state == RunState.COMPLETED or tools.attention(run):
            return
        desk.time_passes(seconds=40)
        tools.recovery.sweep()
        drive(run)
        if people.gates(run):
            people.say(run)
    raise AssertionError(f"the run hangs: {run.state}, {desk.effects(run)}, {run.error}")


def asked(vendor: Vendor, tool: Any, **modes: Any) -> Run:
    vendor.modes(**modes)
    tools.asks((tool, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    return tools.start()


def check(vendor: Vendor, run: Run, point: str) -> None:
    moved = vendor.moved()
    assert len(moved) <= 1, f"money moved {len(moved)} times after a crash at {point}"
    if run.state == RunState.COMPLETED:
        assert moved == [Decimal("40.00")]
        assert desk.effects(run) == {"pay": "applied"}
        assert tools.effect(run).receipt_id == vendor.book()[0]["id"]
    else:
        assert desk.effects(run) == {"pay": "in doubt"}


@pytest.mark.parametrize("kind", tools.CLASSES, ids=lambda one: one.name)
@pytest.mark.parametrize("point", POINTS)
def test_a_crash_at_any_point_moves_the_money_at_most_once(
    vendor: Vendor, point: str, kind: tools.VendorClass
) -> None:
    run = asked(vendor, kind.tool, **kind.modes)
    faults.arm(point, die)
    assert drive(run), f"{point} was never passed"
    to_the_end(run)
    check(vendor, run, point)
    if kind.tool.facts.idempotent_for is not None:
        assert run.state == RunState.COMPLETED


@pytest.mark.parametrize("kind", tools.CLASSES[:5], ids=lambda one: one.name)
@pytest.mark.parametrize("point", LOST)
def test_a_crash_while_reconciling_moves_the_money_once(
    vendor: Vendor, point: str, kind: tools.VendorClass
) -> None:
    run = asked(vendor, kind.tool, **kind.modes)
    vendor.fault("drop", method="POST", path="/v1/refunds")
    faults.arm(point, die)
    assert drive(run), f"{point} was never passed"
    to_the_end(run)
    check(vendor, run, point)
    assert run.state == RunState.COMPLETED


@pytest.mark.parametrize("point", GATED)
def test_a_crash_around_a_gate_moves_the_money_at_most_once(vendor: Vendor, point: str) -> None:
    run = asked(vendor, tools.wire_out)
    faults.arm(point, die)
    died = drive(run)
    to_the_end(run)
    assert died or point not in faults._armed
    check(vendor, run, point)


PAIRS = (
    ("vendor.after_call", "claim.after_commit"),
    ("vendor.before_call", "vendor.after_call"),
    ("vendor.after_call", "lookup.after_call"),
    ("vendor.after_call", "adopt.before_commit"),
    ("outcome.before_commit", "adopt.after_commit"),
    ("intent.after_commit", "sent.after_commit"),
    ("intent.after_commit", "vendor.after_call"),
    ("outcome.before_commit", "outcome.before_commit"),
)


@pytest.mark.parametrize("kind", tools.CLASSES, ids=lambda one: one.name)
@pytest.mark.parametrize("points", PAIRS, ids=" then ".join)
def test_a_second_crash_on_the_way_back_moves_the_money_at_most_once(
    vendor: Vendor, points: tuple[str, str], kind: tools.VendorClass
) -> None:
    run = asked(vendor, kind.tool, **kind.modes)
    faults.arm(points[0], die)
    assert drive(run)
    faults.arm(points[1], die)
    to_the_end(run)
    check(vendor, run, " then ".join(points))


def test_every_point_of_a_plain_refund_is_crashed_at() -> None:
    """The beats of a plain refund are all here; those of other scenes are crashed at by the enumerated schedules."""
    ours = {"claim", "intent", "sent", "vendor", "outcome", "lookup", "adopt", "checkpoint", "suspend", "end"}
    mine = {*POINTS, *LOST, *GATED}
    assert {point for point in faults.POINTS if point.split(".")[0] in ours} == mine


def test_without_the_look_up_the_same_crash_moves_the_money_twice(vendor: Vendor) -> None:
    """The counterfactual: the guard taken out, at a vendor that ignores the keys which its adapter says it honours."""
    for skip, moved in ((True, 2), (False, 1)):
        vendor.reset()
        run = asked(vendor, tools.keyed, keys="ignore")
        faults.turn("lookup.skip", skip)
        faults.arm("vendor.after_call", die)
        assert drive(run)
        to_the_end(run)
        assert vendor.moved() == [Decimal("40.00")] * moved
        if skip:
            faults.turn("lookup.skip", False)
