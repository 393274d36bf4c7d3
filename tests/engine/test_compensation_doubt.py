"""Undos whose outcome nobody knows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from durable import verdicts
from durable.adapters import stripe_refunds
from durable.author import Call, Receipt, hours, tool
from durable.errors import Conflict
from durable.models import Run
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.engine.scenes import WHY, compensated, done, set_aside, sku
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


@tool(vendor="bank", idempotent_for=hours(24), money="amount")
def lend(call: Call, charge: str, back: str, amount: Decimal, currency: str = "EUR") -> Receipt:
    """Money that comes back as the undo, out of another charge."""
    return stripe_refunds.refund(call, charge, amount, currency, "")


@lend.undo(idempotent_for=hours(24))
def take_back(call: Call) -> Receipt:
    return stripe_refunds.refund(call, str(call.args["back"]), Decimal(str(call.args["amount"])), "EUR", "")


def doubtful_undo(vendor: Vendor, tool: Any = tools.unkeyed) -> Run:
    """The one act is applied; its undo, gated and without a key, was sent and never answered."""
    run = done((tool, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    compensated(run)
    people.say(run)
    vendor.fault("hang", seconds=0, service="stock", method="POST")
    desk.drive(run)
    assert run.state == RunState.COMPENSATING
    assert desk.effects(run) == {"pay": "applied", "pay:undo": "in doubt"}
    return run


def test_an_undo_in_doubt_waits_for_a_person_who_may_say_that_it_happened(vendor: Vendor) -> None:
    run = doubtful_undo(vendor)
    verdicts.happened(f"{run.ref}:pay:undo", receipt_id="rsv_9", **WHY)
    desk.drive(run)
    assert run.state == RunState.COMPENSATED


def test_an_unkeyed_undo_that_did_not_happen_is_asked_about_under_a_linked_key(vendor: Vendor) -> None:
    """The tool's key would be young; the undo has none, so software must not send it again."""
    run = doubtful_undo(vendor, tools.one_way)
    desk.time_passes(minutes=5)
    verdicts.did_not(f"{run.ref}:pay:undo", **WHY)
    desk.drive(run)
    assert desk.effects(run) == {"pay": "applied", "pay:undo": "withdrawn", "pay:undo~2": "gated"}
    people.say(run)
    desk.drive(run)
    assert run.state == RunState.COMPENSATED
    assert [one["key"] for one in vendor.book("stock")] == [f"{run.ref}:pay:undo~2"]


def test_an_undo_is_not_undone(vendor: Vendor) -> None:
    run = doubtful_undo(vendor)
    with pytest.raises(Conflict, match="not undone again"):
        verdicts.undo(f"{run.ref}:pay:undo", receipt_id="rsv_9", **WHY)


def test_a_lost_answer_to_a_keyed_undo_is_looked_up(vendor: Vendor) -> None:
    run = done(sku("A"))
    vendor.fault("drop", service="stock", method="POST")
    compensated(run)
    assert run.state == RunState.COMPENSATED
    assert set_aside(vendor) == [("A", 1), ("A", -1)]
    assert tools.kinds(run, "pay:undo")[-1] == "adopted"


def test_an_undo_whose_receipt_names_another_amount_goes_to_a_person(vendor: Vendor) -> None:
    lent = {"charge": tools.charge(vendor), "back": tools.charge(vendor), "amount": Decimal("40.00")}
    run = done((lend, lent))
    vendor.fault("garbage", form="other_amount", method="POST", path="/v1/refunds")
    compensated(run)
    assert run.state == RunState.COMPENSATING
    assert desk.effects(run) == {"pay": "applied", "pay:undo": "in doubt"}
