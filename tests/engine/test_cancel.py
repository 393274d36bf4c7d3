"""Cancelling: no new intent after its commit; what is under way is settled first, then, where asked for, undone."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from durable import claims, ledger, runner, runs, verdicts
from durable.errors import Conflict, Stopping
from durable.ledger import Ask, Place
from durable.models import Effect, Run
from durable.states import RunState
from durable.tools import registry
from durable.vendor import Absent, Call, LookupAnswer, Receipt
from tests.engine import desk, people, tools
from tests.engine.scenes import FORTY, WHY
from tests.together import at_once
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def asks(vendor: Vendor, *wanted: Any) -> None:
    tools.asks(
        *(
            (tool, {"charge": tools.charge(vendor), "amount": Decimal("40.00")})
            for tool in wanted or (tools.keyed,)
        )
    )


def test_after_a_cancel_no_intent_is_recorded(vendor: Vendor) -> None:
    asks(vendor)
    run = tools.start()
    held = claims.claim(run.ref)
    assert held is not None
    runs.cancel(run.ref, **WHY)
    with pytest.raises(Stopping):
        ledger.record(held, run, Ask.of(tools.keyed, tools.script["main"][0][1], Place("pay", 1, 1)))
    assert Effect.objects.count() == 0


def test_a_cancel_between_two_effects_keeps_the_second_in_and_settles_the_first(vendor: Vendor) -> None:
    asks(vendor, tools.keyed, tools.keyed)
    run = tools.start()
    tools.before.append(lambda call: runs.cancel(run.ref, **WHY))
    desk.drive(run)
    assert run.state == RunState.CANCELLED
    assert run.due_at is None and run.ended_at is not None and run.lease_until is None
    assert desk.effects(run) == {"pay": "applied"}
    assert vendor.moved() == FORTY


def test_an_answer_that_was_lost_is_looked_up_before_the_run_ends(vendor: Vendor) -> None:
    asks(vendor)
    vendor.fault("drop", method="POST", path="/v1/refunds")
    run = tools.start()
    tools.before.append(lambda call: runs.cancel(run.ref, **WHY))
    desk.drive(run)
    assert run.state == RunState.CANCELLED
    assert desk.effects(run) == {"pay": "applied"} and tools.effect(run).adopted
    assert vendor.moved() == FORTY


def test_a_cancelling_run_sends_nothing_again_not_even_under_a_young_key(vendor: Vendor) -> None:
    asks(vendor)
    vendor.fault("hang", seconds=0, method="POST", path="/v1/refunds")
    run = tools.start()
    tools.before.append(lambda call: runs.cancel(run.ref, **WHY))
    desk.drive(run)
    for _ in range(12):
        tools.later(run, seconds=20)
    assert run.state == RunState.CANCELLING
    assert len(vendor.requests("POST", "/v1/refunds")) == 1
    assert "The run is to stop" in tools.attention(run)[0]
    verdicts.did_not(f"{run.ref}:pay", **WHY)
    desk.drive(run)
    assert run.state == RunState.CANCELLED
    assert desk.effects(run) == {"pay": "withdrawn"}
    assert vendor.moved() == []


def test_no_run_ends_over_an_effect_in_doubt(vendor: Vendor) -> None:
    vendor.modes(keys="ignore")
    asks(vendor, tools.opaque)
    vendor.fault("drop", method="POST", path="/v1/refunds")
    run = desk.drive(tools.start())
    runs.cancel(run.ref, **WHY)
    for _ in range(3):
        tools.later(run, hours=1)
    assert run.state == RunState.CANCELLING
    assert len(tools.attention(run)) == 1
    verdicts.happened(f"{run.ref}:pay", receipt_id=vendor.book()[0]["id"], **WHY)
    desk.drive(run)
    assert run.state == RunState.CANCELLED
    assert desk.effects(run) == {"pay": "applied"}


def test_what_waits_at_a_gate_is_withdrawn_and_nobody_can_let_it_out_any_more(vendor: Vendor) -> None:
    asks(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    (gate,) = people.gates(run)
    runs.cancel(run.ref, **WHY)
    desk.drive(run)
    assert run.state == RunState.CANCELLED
    with pytest.raises(Conflict):
        people.answer(people.person(), gate)
    assert desk.effects(run) == {"pay": "withdrawn"}


def test_what_was_approved_and_has_not_left_stays_in(vendor: Vendor) -> None:
    asks(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    people.say(run)
    runs.cancel(run.ref, **WHY)
    desk.drive(run)
    assert run.state == RunState.CANCELLED
    assert vendor.requests("POST") == []


def test_a_cancel_with_undo_settles_first_and_undoes_then(vendor: Vendor) -> None:
    tools.asks((tools.set_aside, {"sku": "A"}), (tools.set_aside, {"sku": "B"}))
    vendor.fault("drop", after=1, service="stock", method="POST")
    run = tools.start()
    calls = []

    def cancel(call: Any) -> None:
        calls.append(call.key)
        if len(calls) == 2:
            runs.cancel(run.ref, undo=True, **WHY)

    tools.before.append(cancel)
    desk.drive(run)
    assert run.state == RunState.COMPENSATING
    tools.later(run, seconds=1)
    assert run.state == RunState.COMPENSATED
    moved = [(one["target"], one["metadata"]["quantity"]) for one in vendor.book("stock")]
    assert moved == [("A", 1), ("B", 1), ("B", -1), ("A", -1)]


def test_a_cancel_without_undo_leaves_what_was_done(vendor: Vendor) -> None:
    tools.asks((tools.set_aside, {"sku": "A"}), (tools.letter, {"to": "ada@example.org"}))
    run = desk.drive(tools.start())
    runs.cancel(run.ref, **WHY)
    desk.drive(run)
    assert run.state == RunState.CANCELLED
    assert len(vendor.book("stock")) == 1


def test_an_ending_run_whose_tool_is_gone_says_so(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    asks(vendor)
    vendor.fault("hang", seconds=0, method="POST", path="/v1/refunds")
    run = tools.start()
    tools.before.append(lambda call: runs.cancel(run.ref, **WHY))
    tools.before.append(lambda call: monkeypatch.delitem(registry._tools, "keyed"))
    desk.drive(run)
    assert run.state == RunState.CANCELLING
    assert "keyed" in tools.attention(run)[0]


def test_of_a_cancel_and_an_intent_at_the_same_moment_one_comes_first(vendor: Vendor) -> None:
    """Either the intent is there and gets settled, or it never is; nothing moves after the cancel."""
    for _ in range(6):
        asks(vendor)
        run = tools.start()
        cancel = partial(runs.cancel, run.ref, **WHY)
        at_once(partial(runner.drive, run.ref), cancel, loses=Conflict)  # it may have completed
        for _ in range(3):
            tools.later(run, minutes=5)
        assert run.state in (RunState.CANCELLED, RunState.COMPLETED)
        moved = [one for one in vendor.book() if one["key"] == f"{run.ref}:pay"]
        states = desk.effects(run)
        assert (len(moved), states) in ((1, {"pay": "applied"}), (0, {}))


@pytest.mark.parametrize("found", [True, False], ids=["found", "not found"])
def test_a_verdict_while_an_ending_run_asks_the_vendor_is_no_fault(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, found: bool
) -> None:
    """The look-up takes its time, and a person knows first."""
    vendor.modes(keys="ignore")
    asks(vendor, tools.opaque)
    vendor.fault("drop" if found else "hang", seconds=0, method="POST", path="/v1/refunds")
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "in doubt"}

    def look(call: Call) -> LookupAnswer:
        if found:
            receipt = vendor.book()[0]["id"]
            desk.meanwhile(lambda: verdicts.happened(call.key, receipt_id=receipt, **WHY))
            return Receipt(receipt, Decimal("40.00"), "EUR", key=call.key)
        desk.meanwhile(lambda: verdicts.did_not(call.key, **WHY))
        return Absent()

    monkeypatch.setattr(tools.opaque, "lookup_function", look)
    desk.time_passes(hours=1)
    runs.cancel(run.ref, **WHY)
    desk.drive(run)
    assert tools.attention(run) == []
    assert run.state == RunState.CANCELLED
    assert desk.effects(run) == {"pay": "applied" if found else "withdrawn"}


def test_a_no_while_an_ending_run_hears_of_the_receipt_raises_an_alarm(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendor.modes(keys="ignore")
    asks(vendor, tools.opaque)
    vendor.fault("drop", method="POST", path="/v1/refunds")
    run = desk.drive(tools.start())

    def look(call: Call) -> LookupAnswer:
        desk.meanwhile(lambda: verdicts.did_not(call.key, **WHY))
        return Receipt(vendor.book()[0]["id"], Decimal("40.00"), "EUR", key=call.key)

    monkeypatch.setattr(tools.opaque, "lookup_function", look)
    desk.time_passes(hours=1)
    runs.cancel(run.ref, **WHY)
    desk.drive(run)
    assert desk.effects(run) == {"pay": "withdrawn"}
    (told,) = tools.attention(run)
    assert "but it is withdrawn: look what really moved" in told


def test_workers_lost_on_the_way_forward_do_not_count_against_the_end(vendor: Vendor) -> None:
    asks(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    Run.objects.filter(pk=run.pk).update(crashes=11)
    runs.cancel(run.ref, **WHY)
    assert desk.drive(run).state == RunState.CANCELLED
