"""What people may say about an effect in doubt, and what follows: one verdict settles it, proof and time permitting."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from durable import clock, faults, journal, runs, verdicts
from durable.errors import Conflict, Invalid
from durable.models import Effect, Run
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.engine.scenes import FORTY, WHY, Killed, die, doubtful, key
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


# It happened.


def test_it_happened_adopts_the_receipt_and_the_run_goes_on(vendor: Vendor) -> None:
    run = doubtful(vendor)
    verdicts.happened(key(run), receipt_id=vendor.book()[0]["id"], **WHY)
    assert desk.drive(run).state == RunState.COMPLETED
    assert tools.kinds(run)[-2:] == ["verdict", "adopted"]
    assert tools.got[0].facts["settled_by"] == "hand"
    assert vendor.moved() == FORTY


@pytest.mark.parametrize("receipt", ["", "   ", "x" * 300, "a\x00b"])
def test_it_happened_needs_a_receipt(vendor: Vendor, receipt: str) -> None:
    run = doubtful(vendor)
    with pytest.raises(Invalid) as refused:
        verdicts.happened(key(run), receipt_id=receipt, **WHY)
    assert refused.value.field == "receipt_id"
    assert desk.effects(run) == {"pay": "in doubt"}


@pytest.mark.parametrize("field", ["actor", "reason"])
def test_a_verdict_needs_a_name_and_a_reason(vendor: Vendor, field: str) -> None:
    run = doubtful(vendor)
    with pytest.raises(Invalid) as refused:
        verdicts.happened(key(run), receipt_id="re_1", **{**WHY, field: " "})
    assert refused.value.field == field


def test_a_receipt_that_proves_another_effect_is_refused(vendor: Vendor) -> None:
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    other = desk.drive(tools.start())
    run = doubtful(vendor)
    with pytest.raises(Conflict, match="belongs to another effect"):
        verdicts.happened(key(run), receipt_id=tools.effect(other).receipt_id, **WHY)
    assert desk.effects(run) == {"pay": "in doubt"}


def test_a_candidate_that_people_were_shown_is_taken_as_it_was_shown(vendor: Vendor) -> None:
    """The vendor moved 41 where 40 were asked: what the ledger says was spent is what moved."""
    vendor.fault("garbage", form="other_amount", method="POST", path="/v1/refunds")
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = desk.drive(tools.start())
    verdicts.happened(key(run), receipt_id=vendor.book()[0]["id"], **WHY)
    assert desk.drive(run).state == RunState.COMPLETED
    assert tools.got[0].amount == Decimal("40.01")


# It did not.


@pytest.mark.parametrize("tool", [tools.opaque, tools.unkeyed], ids=lambda one: one.name)
def test_it_did_not_is_refused_before_quiescence_and_says_from_when(vendor: Vendor, tool: Any) -> None:
    run = doubtful(vendor, tool, landed=False)
    Effect.objects.filter(run=run).update(send_by=clock.db_now())
    with pytest.raises(Conflict, match="may still land; say so from"):
        verdicts.did_not(key(run), **WHY)
    assert desk.effects(run) == {"pay": "in doubt"}
    desk.time_passes(seconds=36)
    verdicts.did_not(key(run), **WHY)


def test_after_it_did_not_an_unkeyed_effect_gets_a_linked_key_that_is_gated(vendor: Vendor) -> None:
    run = doubtful(vendor, landed=False, quiet=True)
    verdicts.did_not(key(run), **WHY)
    desk.drive(run)
    assert desk.effects(run) == {"pay": "withdrawn", "pay~2": "gated"}
    linked = tools.effect(run, "pay~2")
    assert linked.linked_from == tools.effect(run)
    told = [event for event in journal.events(run.ref, effect_key=linked.key) if event.kind == "linked"]
    assert [json.loads(event.body) for event in told] == [{"older": key(run)}]
    assert "never happened" in people.gates(run)[0].reason
    assert vendor.moved() == []
    people.say(run)
    assert desk.drive(run).state == RunState.COMPLETED
    assert [one["key"] for one in vendor.book()] == [key(run, "pay~2")]


def test_an_old_keyed_effect_gets_a_linked_gated_key_too(vendor: Vendor) -> None:
    vendor.fault("hang", seconds=0, method="POST", path="/v1/refunds")
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = tools.start()
    tools.after.append(lambda call, receipt: None)
    tools.before.append(lambda call: desk.time_passes(hours=13))
    desk.drive(run)
    tools.before.clear()
    tools.later(run, minutes=5)
    assert desk.effects(run) == {"pay": "in doubt"}
    verdicts.did_not(key(run), **WHY)
    desk.drive(run)
    assert desk.effects(run) == {"pay": "withdrawn", "pay~2": "gated"}


def aged_after_verdict(vendor: Vendor) -> Run:
    """A young keyed effect, in doubt because its answer named other money; people say that nothing moved."""
    run = tools.start()
    args: dict[str, Any] = {"charge": tools.charge(vendor), "amount": Decimal("40.00")}
    vendor.client().v1.refunds.create({"charge": args["charge"], "amount": 4000})
    vendor.fault("status", status=503, method="POST", path="/v1/refunds")
    tools.asks((tools.keyed, args))
    desk.drive(run)
    assert desk.effects(run) == {"pay": "in doubt"}
    desk.time_passes(minutes=5)
    verdicts.did_not(key(run), **WHY)
    return run


def test_a_young_key_is_sent_again_as_it_was_after_it_did_not(vendor: Vendor) -> None:
    run = aged_after_verdict(vendor)
    assert desk.drive(run).state == RunState.COMPLETED
    assert [one["key"] for one in vendor.book()][1:] == [key(run)]


def test_a_key_that_grows_old_after_the_verdict_is_not_sent_again(vendor: Vendor) -> None:
    """The run was held for half a day: a repeat under a key that may be forgotten is a new act."""
    run = aged_after_verdict(vendor)
    desk.time_passes(hours=13)
    desk.drive(run)
    assert desk.effects(run) == {"pay": "in doubt"}
    assert "too old" in tools.attention(run)[0]
    verdicts.did_not(key(run), **WHY)
    desk.drive(run)
    assert desk.effects(run) == {"pay": "withdrawn", "pay~2": "gated"}


def test_a_receipt_that_turns_up_after_it_did_not_raises_an_alarm(vendor: Vendor) -> None:
    """A zombie comes back with the proof that the money did move."""
    vendor.modes(keys="ignore")
    tools.asks((tools.opaque, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = tools.start()

    def sleep(call: Any, receipt: Any) -> None:
        tools.after.clear()
        desk.time_passes(minutes=5)
        desk.drive(run)
        verdicts.did_not(key(run), **WHY)
        desk.drive(run)

    tools.after.append(sleep)
    desk.drive(run)
    assert desk.effects(run) == {"pay": "withdrawn", "pay~2": "gated"}
    assert any("has answered" in one and "late" in one for one in tools.attention(run))


# Undo.


def test_undo_settles_it_as_happened_then_compensates(vendor: Vendor) -> None:
    run = doubtful(vendor)
    verdicts.undo(key(run), receipt_id=vendor.book()[0]["id"], **WHY)
    assert desk.effects(run) == {"pay": "applied"}
    desk.drive(run)
    desk.drive(run)
    assert desk.effects(run) == {"pay": "applied", "pay:undo": "gated"}
    people.say(run)
    desk.drive(run)
    assert run.state == RunState.COMPENSATED
    assert [one["key"] for one in vendor.book("stock")] == [key(run, "pay:undo")]


@pytest.mark.parametrize("undo_before", [False, True])
def test_undo_of_what_a_cancelling_run_left_in_doubt_compensates(vendor: Vendor, undo_before: bool) -> None:
    run = doubtful(vendor)
    runs.cancel(run.ref, undo=undo_before, **WHY)
    desk.drive(run)
    verdicts.undo(key(run), receipt_id=vendor.book()[0]["id"], **WHY)
    desk.drive(run)
    desk.drive(run)
    assert run.state == RunState.COMPENSATING
    assert desk.effects(run)["pay:undo"] == "gated"


def test_a_crash_inside_the_verdict_to_undo_leaves_nothing_half_done(vendor: Vendor) -> None:
    run = doubtful(vendor)
    faults.arm("command.before_commit", die)
    with pytest.raises(Killed):
        verdicts.undo(key(run), receipt_id=vendor.book()[0]["id"], **WHY)
    run.refresh_from_db()
    assert run.state == RunState.SUSPENDED and desk.effects(run) == {"pay": "in doubt"}
