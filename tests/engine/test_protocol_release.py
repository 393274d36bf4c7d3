"""The one check before every send, first or repeated: whatever it is that no longer holds keeps the effect in."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from approvals import policy
from approvals.models import Gate
from approvals.policy import Demand
from approvals.states import Verdict
from durable import answers, ledger, recovery, runs, stops
from durable.claims import claim
from durable.errors import CannotSay, Conflict, LeaseLost, Stopping, VendorRefused
from durable.ledger import Ask, Place
from durable.models import Run, Wait
from durable.states import RunState, WaitKind
from tests.engine import desk, people, tools
from tests.engine.scenes import FORTY
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def approved(vendor: Vendor, **world: Any) -> Run:
    """A run whose effect people have let out, and no worker has taken up yet."""
    tools.world.update(world)
    tools.asks((tools.wire_out, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = desk.drive(tools.start())
    people.say(run)
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    effect = tools.effect(run)
    assert (effect.sends, effect.first_sent_at, effect.send_by) == (0, None, None)
    return run


def not_sent_yet(vendor: Vendor, **world: Any) -> Run:
    """An approved effect whose first request met a vendor that limits the rate."""
    run = approved(vendor, **world)
    vendor.fault("status", status=429, method="POST", path="/v1/refunds")
    assert desk.drive(run).state == RunState.SUSPENDED
    assert tools.kinds(run)[-1] == "not sent"
    return run


def test_an_approval_that_was_not_used_in_time_lapses_and_people_are_asked_again(vendor: Vendor) -> None:
    run = approved(vendor)
    desk.time_passes(days=1, minutes=1)
    desk.drive(run)
    (gate,) = people.gates(run)
    assert gate.round == 2 and "not used in time" in gate.reason
    assert vendor.requests("POST") == []
    people.say(run)
    desk.drive(run)
    assert vendor.moved() == FORTY


def test_act_by_limits_the_first_send_and_no_repeat_of_it(vendor: Vendor) -> None:
    run = not_sent_yet(vendor)
    tools.later(run, days=2)
    assert vendor.moved() == FORTY


def test_an_approver_who_has_lost_the_right_lets_nothing_out(vendor: Vendor) -> None:
    run = approved(vendor)
    User.objects.get(username="alice").groups.clear()
    desk.drive(run)
    (gate,) = people.gates(run)
    assert "alice" in gate.reason and "may no longer decide" in gate.reason
    assert vendor.requests("POST") == []


def test_an_approver_who_has_lost_the_right_stops_a_repeat_too(vendor: Vendor) -> None:
    run = not_sent_yet(vendor)
    User.objects.filter(username="alice").update(is_active=False)
    tools.later(run, minutes=5)
    assert [gate.round for gate in people.gates(run)] == [2]
    assert len(vendor.requests("POST")) == 1
    people.say(run, by="bob")
    desk.drive(run)
    assert vendor.moved() == FORTY


def test_a_repeat_that_may_not_leave_over_an_open_request_goes_before_a_person(vendor: Vendor) -> None:
    """A new round would promise that nothing has been sent."""
    tools.asks((tools.keyed, {"charge": tools.charge(vendor, "200.00"), "amount": Decimal("140.00")}))
    run = desk.drive(tools.start())
    people.say(run)
    vendor.fault("status", status=503, method="POST", path="/v1/refunds")
    tools.before.append(lambda call: User.objects.filter(username="alice").update(is_active=False))
    desk.drive(run)
    assert desk.effects(run) == {"pay": "in doubt"}
    assert "may not be sent again" in tools.attention(run)[0]
    assert len(vendor.requests("POST", "/v1/refunds")) == 1


def test_a_policy_that_refuses_by_now_keeps_an_approved_effect_in(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = approved(vendor)
    monkeypatch.setattr(policy, "RULES", (lambda question: Demand("no more wires", refuses=True),))
    desk.drive(run)
    assert "policy changed since this was approved: no more wires" in people.gates(run)[0].reason
    assert vendor.requests("POST") == []


def test_a_policy_that_refuses_by_now_keeps_an_ungated_repeat_in(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    vendor.fault("status", status=429, method="POST", path="/v1/refunds")
    run = desk.drive(tools.start())
    monkeypatch.setattr(policy, "RULES", (lambda question: Demand("no more refunds", refuses=True),))
    tools.later(run, minutes=5)
    assert desk.effects(run) == {"pay": "gated"}
    assert vendor.moved() == []


def test_a_rule_that_fails_keeps_everything_in(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(question: Any) -> None:
        raise RuntimeError("a bug in a rule")

    monkeypatch.setattr(policy, "RULES", (broken,))
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "gated"}
    people.say(run)
    desk.drive(run)
    assert vendor.requests("POST") == []


@pytest.mark.parametrize("gone", [VendorRefused("missing", "no such charge"), {"left": "0.00"}], ids=str)
def test_facts_that_no_longer_hold_are_shown_in_a_new_round(vendor: Vendor, gone: Any) -> None:
    run = approved(vendor, left="100.00")
    tools.world["left"] = gone["left"] if isinstance(gone, dict) else gone
    desk.drive(run)
    (gate,) = people.gates(run)
    assert gate.round == 2 and "what it rests on" in gate.reason
    assert vendor.requests("POST") == []


def test_facts_that_cannot_be_read_now_are_read_later(vendor: Vendor) -> None:
    run = approved(vendor, left="100.00")
    tools.world["left"] = CannotSay("the shop is closed")
    assert desk.drive(run).state == RunState.SUSPENDED
    assert people.gates(run) == [] and vendor.requests("POST") == []
    tools.world["left"] = "100.00"
    tools.later(run, minutes=10)
    assert vendor.moved() == FORTY


def test_facts_are_read_again_before_each_request_of_what_has_not_left_yet(vendor: Vendor) -> None:
    run = not_sent_yet(vendor, left="100.00")
    tools.world["left"] = "60.00"  # somebody has refunded in the vendor's own pages meanwhile
    tools.later(run, minutes=5)
    (gate,) = people.gates(run)
    assert gate.round == 2 and "what it rests on has changed" in gate.reason
    assert len(vendor.requests("POST")) == 1 and vendor.moved() == []


def test_facts_that_can_not_be_read_for_hours_bring_it_back_to_people(vendor: Vendor) -> None:
    run = approved(vendor, left="100.00")
    tools.world["left"] = CannotSay("the shop is closed")
    desk.drive(run)
    tools.later(run, hours=3)
    assert people.gates(run) == []
    tools.later(run, hours=2)
    (gate,) = people.gates(run)
    assert gate.round == 2 and "can't be read any more" in gate.reason
    assert tools.words(run, "new round").endswith("can't be read any more: “the shop is closed”")
    assert vendor.requests("POST") == []


def test_a_held_run_sends_nothing_until_it_is_released(vendor: Vendor) -> None:
    run = approved(vendor)
    runs.hold(run.ref, actor="olga", reason="wait")
    desk.drive(run)
    assert vendor.requests("POST") == []
    runs.release(run.ref, actor="olga", reason="go")
    desk.drive(run)
    assert vendor.moved() == FORTY


def test_a_hold_that_comes_while_a_worker_drives_stops_the_send(vendor: Vendor) -> None:
    tools.asks(
        (tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}),
        (tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("41.00")}),
    )
    run = tools.start()
    tools.before.append(lambda call: (tools.before.clear(), runs.hold(run.ref, actor="olga", reason="wait")))
    desk.drive(run)
    assert vendor.moved() == FORTY
    assert desk.effects(run) == {"pay": "applied"}
    assert run.state == RunState.SUSPENDED


@pytest.mark.parametrize(("scope", "name"), [("all", ""), ("agent", "Payer"), ("tool", "wire_out")])
def test_a_stop_order_keeps_in_what_was_approved_and_lifting_it_lets_it_go(
    vendor: Vendor, scope: str, name: str
) -> None:
    run = approved(vendor)
    order = stops.order(scope, name, actor="olga", reason="look first")
    assert desk.drive(run).state == RunState.SUSPENDED
    assert vendor.requests("POST") == []
    assert stops.lift(order.pk, actor="olga", reason="fine") == 1
    desk.drive(run)
    assert vendor.moved() == FORTY


def test_a_stop_of_another_tool_stops_nothing(vendor: Vendor) -> None:
    run = approved(vendor)
    stops.order("tool", "letter", actor="olga", reason="look first")
    desk.drive(run)
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("41.00")}))
    desk.drive(tools.start())
    assert vendor.moved() == [Decimal("40.00"), Decimal("41.00")]


def test_past_its_deadline_a_run_sends_nothing(vendor: Vendor) -> None:
    run = approved(vendor)
    desk.time_passes(days=31)
    desk.drive(run)
    assert vendor.requests("POST") == []
    assert "deadline" in tools.attention(run)[0]


def held(run: Run) -> Any:
    """What a worker holds that has claimed a run and stands before the release."""
    held = claim(run.ref)
    assert held is not None
    args = tools.script["main"][0][1]
    return held, tools.effect(run), Ask.of(tools.wire_out, args, Place("pay", 1, 1))


def test_a_worker_that_lost_its_lease_releases_nothing(vendor: Vendor) -> None:
    run = approved(vendor)
    mine, effect, ask = held(run)
    desk.time_passes(minutes=5)
    assert claim(run.ref) is not None
    with pytest.raises(LeaseLost):
        ledger.release(mine, effect, ask)
    assert tools.effect(run).sends == 0


def test_after_a_cancel_nothing_is_released(vendor: Vendor) -> None:
    run = approved(vendor)
    mine, effect, ask = held(run)
    runs.cancel(run.ref, actor="olga", reason="mistake")
    with pytest.raises(Stopping):
        ledger.release(mine, effect, ask)
    assert tools.effect(run).sends == 0


def test_a_round_that_has_been_superseded_is_not_released(vendor: Vendor) -> None:
    """The worker believes in the first round; people have meanwhile been asked about another payload."""
    tools.asks((tools.wire_out, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = desk.drive(tools.start())
    args = tools.script["main"][0][1]
    asked = Wait.objects.get(run=run, kind=WaitKind.GATE.value)
    locked_edit(run, asked, {**args, "amount": "30.00", "charge": args["charge"], "currency": "EUR"})
    Run.objects.filter(pk=run.pk).update(state="queued", due_at=run.created_at)
    mine, effect, ask = held(run)
    with pytest.raises(Conflict):
        ledger.release(mine, effect, ask)
    assert tools.effect(run).sends == 0


def locked_edit(run: Run, wait: Wait, args: dict[str, Any]) -> None:
    with transaction.atomic():
        answers.edit(answers.lock(run.ref, wait.pk), actor="bob", args=args, body={})


def test_an_approval_lets_out_its_own_effect_and_no_other(vendor: Vendor) -> None:
    args = {"charge": tools.charge(vendor), "amount": Decimal("40.00")}
    tools.asks((tools.wire_out, args), (tools.wire_out, args))
    run = desk.drive(tools.start())
    people.say(run)
    desk.drive(run)
    assert desk.effects(run) == {"pay": "applied", "pay#2": "gated"}
    assert vendor.moved() == FORTY
    assert Gate.objects.filter(effect__run=run, used_at__isnull=False).count() == 1


def test_a_gate_that_expires_while_a_worker_holds_the_run_is_refused_all_the_same(vendor: Vendor) -> None:
    tools.asks((tools.wire_out, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = desk.drive(tools.start())
    desk.time_passes(days=4)
    recovery.sweep()
    with pytest.raises(IndexError):
        people.say(run, Verdict.APPROVE)
    desk.drive(run)
    assert vendor.requests("POST") == []
    assert desk.effects(run) == {"pay": "expired"}
