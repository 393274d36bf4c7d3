"""A fork sees its parent's whole ledger: what the parent did at a place is not done there again unasked."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from durable import runs, steering, verdicts
from durable.errors import Conflict
from durable.models import Effect, Run
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.engine.scenes import FORTY
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")
WHY: dict[str, Any] = {"actor": "olga", "reason": "again, from the start"}


def parent(vendor: Vendor, tool: Any = tools.keyed, **args: Any) -> tuple[Run, dict[str, Any]]:
    """A completed run with one effect, and that effect's arguments."""
    wanted = args or {"charge": tools.charge(vendor), "amount": Decimal("40.00")}
    tools.asks((tool, wanted))
    run = desk.drive(tools.start())
    assert run.state == RunState.COMPLETED
    tools.got.clear()
    return run, wanted


def fork(run: Run) -> Run:
    return steering.fork(run.ref, 1, actor=WHY["actor"], reason=WHY["reason"])


def test_an_equal_call_at_the_same_place_returns_the_parents_receipt(vendor: Vendor) -> None:
    run, wanted = parent(vendor)
    child = desk.drive(fork(run))
    assert child.state == RunState.COMPLETED
    assert tools.got[0].id == tools.effect(run).receipt_id
    assert tools.got[0].decided["charge"] == wanted["charge"]
    assert vendor.moved() == FORTY and desk.effects(child) == {}


def test_a_grandchild_sees_it_too(vendor: Vendor) -> None:
    run, _ = parent(vendor)
    child = desk.drive(fork(run))
    grandchild = desk.drive(fork(child))
    assert grandchild.state == RunState.COMPLETED
    assert [one.id for one in tools.got] == [tools.effect(run).receipt_id] * 2
    assert vendor.moved() == FORTY


def test_another_call_at_a_place_that_the_parent_used_is_gated(vendor: Vendor) -> None:
    run, wanted = parent(vendor)
    tools.asks((tools.keyed, {**wanted, "amount": Decimal("41.00")}))
    child = desk.drive(fork(run))
    assert desk.effects(child) == {"pay": "gated"}
    assert "acted otherwise at this place" in people.gates(child)[0].reason
    assert vendor.moved() == FORTY


def test_a_call_at_a_new_place_is_like_any_other(vendor: Vendor) -> None:
    run, wanted = parent(vendor)
    tools.asks((tools.keyed, wanted), (tools.keyed, {**wanted, "amount": Decimal("5.00")}))
    child = desk.drive(fork(run))
    assert child.state == RunState.COMPLETED
    assert [one["key"] for one in vendor.book()] == [f"{run.ref}:pay", f"{child.ref}:pay#2"]


def test_what_the_parent_took_back_is_not_handed_on_as_done(vendor: Vendor) -> None:
    run, _ = parent(vendor, tools.set_aside, sku="A")
    runs.compensate(run.ref, **WHY)
    assert desk.drive(run).state == RunState.COMPENSATED
    child = desk.drive(fork(run))
    assert desk.effects(child) == {"pay": "gated"}
    assert tools.got == []


def test_what_the_parent_is_taking_back_is_not_handed_on_as_done(vendor: Vendor) -> None:
    run, _ = parent(vendor, tools.pledge, sku="A")
    child = fork(run)
    runs.compensate(run.ref, **WHY)
    desk.drive(run)
    assert desk.effects(run)["pay:undo"] == "gated"
    assert desk.effects(desk.drive(child)) == {"pay": "gated"}
    assert tools.got == []


def test_what_a_fork_inherited_stays_its_parents_to_undo(vendor: Vendor) -> None:
    run, _ = parent(vendor, tools.set_aside, sku="A")
    child = desk.drive(fork(run))
    runs.compensate(child.ref, **WHY)
    assert desk.drive(child).state == RunState.COMPENSATED
    assert len(vendor.book("stock")) == 1
    runs.compensate(run.ref, **WHY)
    assert desk.drive(run).state == RunState.COMPENSATED
    assert len(vendor.book("stock")) == 2


def test_a_fork_draws_on_what_is_left_of_its_parents_budget(vendor: Vendor) -> None:
    run, wanted = parent(vendor)
    tools.asks((tools.keyed, wanted), (tools.keyed, {**wanted, "amount": Decimal("461.00")}))
    child = desk.drive(fork(run))
    assert "460.00 EUR left" in tools.attention(child)[0]


def test_no_run_is_forked_over_an_effect_in_doubt(vendor: Vendor) -> None:
    vendor.fault("garbage", form="other_amount", method="POST", path="/v1/refunds")
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = desk.drive(tools.start())
    runs.hold(run.ref, **WHY)
    with pytest.raises(Conflict, match="settle it before forking"):
        fork(run)
    verdicts.happened(f"{run.ref}:pay", receipt_id=vendor.book()[0]["id"], **WHY)
    assert desk.drive(fork(run)).state == RunState.COMPLETED
    assert len(vendor.moved()) == 1
    assert Effect.objects.count() == 1


def test_what_never_happened_in_the_fork_does_not_hide_what_its_parent_did(vendor: Vendor) -> None:
    vendor.modes(keys="ignore")
    run, wanted = parent(vendor, tools.unkeyed)
    tools.asks((tools.unkeyed, {**wanted, "amount": Decimal("50.00")}))
    child = desk.drive(fork(run))
    vendor.fault("hang", method="POST", path="/v1/refunds", seconds=0)
    people.say(child)
    desk.drive(child)
    tools.later(child, minutes=5)
    assert desk.effects(child) == {"pay": "in doubt"}
    verdicts.did_not(f"{child.ref}:pay", **WHY)
    tools.asks((tools.unkeyed, wanted))

    assert desk.drive(child).state == RunState.COMPLETED
    assert tools.got[-1].id == tools.effect(run).receipt_id
    assert vendor.moved() == FORTY and people.gates(child) == []
