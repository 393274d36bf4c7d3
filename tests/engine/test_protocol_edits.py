"""A reviewer's edit: what leaves is what was decided, and somebody else decides it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from approvals.states import Verdict
from durable.digest import keyed_hash
from durable.errors import Conflict, Invalid
from durable.models import Effect, Run, Subject
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.engine.scenes import args, crash_before_the_wire
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def edited(vendor: Vendor, amount: str = "30.00", tool: Any = tools.wire_out) -> tuple[Run, dict[str, Any]]:
    wanted = args(vendor)
    tools.asks((tool, wanted))
    run = desk.drive(tools.start())
    people.say(run, Verdict.EDIT, args={**wanted, "amount": amount, "currency": "EUR"}, words="less")
    return run, wanted


def test_an_edit_is_decided_by_somebody_else_and_only_the_edited_payload_leaves(vendor: Vendor) -> None:
    run, wanted = edited(vendor)
    desk.drive(run)
    assert vendor.requests("POST") == []
    people.say(run, by="bob")
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == [Decimal("30.00")]
    assert tools.got[0].decided == {"charge": wanted["charge"], "amount": "30.00", "currency": "EUR"}
    effect = tools.effect(run)
    assert effect.digest != effect.digest_asked


def test_an_edited_effect_is_found_by_whom_it_concerns_now_and_no_more_by_whom_it_was_about(
    vendor: Vendor,
) -> None:
    tools.asks((tools.letter, {"to": "ada@example.org"}))
    run = desk.drive(tools.start())
    to = {"to": "bob@example.org", "subject": "Your order", "body": "It is done."}
    people.say(run, Verdict.EDIT, args=to, words="wrong person")
    about = Subject.objects.filter(effect=tools.effect(run)).values_list("hash", flat=True)
    assert list(about) == [keyed_hash("customer", "bob@example.org", settings.INTERLOCK_HASH_KEY)]


def test_what_was_sent_once_can_not_be_edited_any_more(vendor: Vendor) -> None:
    """The vendor would not take it, and certainly did nothing: key and payload are bound all the same."""
    wanted = args(vendor)
    tools.asks((tools.wire_out, wanted))
    run = desk.drive(tools.start())
    people.say(run)
    vendor.fault("status", status=429, method="POST", path="/v1/refunds")
    desk.drive(run)
    User.objects.filter(username="alice").update(is_active=False)
    tools.later(run, minutes=5)
    (gate,) = people.gates(run)
    assert gate.round == 2
    with pytest.raises(Conflict, match="was sent before; its payload is bound, so approve or reject it"):
        people.say(run, Verdict.EDIT, by="bob", args={**wanted, "amount": "30.00", "currency": "EUR"})
    people.say(run, by="bob")
    desk.drive(run)
    assert vendor.moved() == [Decimal("40.00")]


def test_an_edit_outlives_a_crash_before_the_wire(vendor: Vendor) -> None:
    wanted = {"charge": tools.charge(vendor, "200.00"), "amount": Decimal("150.00")}
    tools.asks((tools.keyed, wanted))
    run = desk.drive(tools.start())
    people.say(run, Verdict.EDIT, args={**wanted, "amount": "30.00", "currency": "EUR"}, words="less")
    people.say(run, by="bob")
    crash_before_the_wire(run)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == [Decimal("30.00")]


def test_a_step_that_changes_its_mind_after_an_edit_is_asked_about_anew(vendor: Vendor) -> None:
    run, wanted = edited(vendor)
    people.say(run, by="bob")
    tools.asks((tools.wire_out, {**wanted, "amount": Decimal("50.00")}))
    desk.drive(run)
    assert vendor.requests("POST") == []
    assert people.gates(run)[0].round == 3


@pytest.mark.parametrize(
    "bad",
    [
        {"amount": "0"},
        {"amount": "-1"},
        {"amount": "1.001"},
        {"amount": 40.5},
        {"currency": "XXQ"},
        {"extra": 1},
    ],
    ids=str,
)
def test_an_edit_that_the_tool_refuses_changes_nothing(vendor: Vendor, bad: dict[str, Any]) -> None:
    wanted = args(vendor)
    tools.asks((tools.wire_out, wanted))
    run = desk.drive(tools.start())
    before = Effect.objects.values().get(run=run)
    with pytest.raises(Invalid) as refused:
        people.say(run, Verdict.EDIT, args={**wanted, "amount": "40.00", "currency": "EUR", **bad})
    assert refused.value.field.startswith("args.")
    assert Effect.objects.values().get(run=run) == before


def test_an_edit_above_the_budget_is_refused_with_the_field_named(vendor: Vendor) -> None:
    with pytest.raises(Invalid) as refused:
        edited(vendor, amount="501.00")
    assert refused.value.field == "args.amount"
    (effect,) = Effect.objects.all()
    assert (effect.state, effect.amount_minor) == ("gated", 4000)
