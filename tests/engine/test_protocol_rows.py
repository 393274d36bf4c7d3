"""The effect protocol's table, row by row. What the ledger says decides; what moved is read from the vendor's book."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from approvals.decisions import answer_back
from approvals.states import Verdict
from durable.adapters import stripe_refunds
from durable.errors import EffectFailed, EffectRefused
from durable.states import EffectState, RunState
from tests.engine import desk, people, tools
from tests.engine.scenes import FORTY, Killed, die
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def wants(vendor: Vendor, tool: Any = tools.keyed, amount: str = "40.00") -> dict[str, Any]:
    """Script one refund on a new charge; returns its arguments."""
    args = {"charge": tools.charge(vendor), "amount": Decimal(amount)}
    tools.asks((tool, args))
    return args


# Nothing in the ledger.


@pytest.mark.parametrize("kind", tools.CLASSES, ids=lambda one: one.name)
def test_an_effect_that_nobody_must_be_asked_about_is_recorded_sent_and_applied(
    vendor: Vendor, kind: tools.VendorClass
) -> None:
    vendor.modes(**kind.modes)
    wants(vendor, kind.tool)
    run = desk.drive(tools.start())
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY
    assert tools.kinds(run) == ["intent", "sent", "applied"]
    assert vendor.book()[0]["key"] == f"{run.ref}:pay"


def test_an_irreversible_effect_suspends_on_its_gate_and_sends_nothing(vendor: Vendor) -> None:
    wants(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    assert run.state == RunState.SUSPENDED
    assert desk.effects(run) == {"pay": "gated"}
    assert vendor.requests("POST") == []


def test_a_large_amount_is_gated_though_its_class_would_let_it_out(vendor: Vendor) -> None:
    wants(vendor, amount="100.00")
    assert desk.drive(tools.start()).state == RunState.COMPLETED
    tools.asks((tools.keyed, {"charge": tools.charge(vendor, "200.00"), "amount": Decimal("100.01")}))
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "gated"}


# Gated: undecided, asked back, approved, refused.


def test_an_undecided_gate_stays_however_often_the_run_is_driven(vendor: Vendor) -> None:
    wants(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    for _ in range(3):
        desk.drive(run)
    assert desk.effects(run) == {"pay": "gated"}
    assert len(people.gates(run)) == 1
    assert tools.kinds(run) == ["intent", "gated"]


def test_an_answer_to_what_was_asked_back_opens_a_new_round(vendor: Vendor) -> None:
    wants(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    first = people.gates(run)[0]
    people.say(run, Verdict.ASK_BACK, words="which order is it?")
    assert desk.drive(run).state == RunState.SUSPENDED
    second = answer_back(people.person("olga"), first.pk, "8812")
    assert (second.round, second.digest) == (2, first.digest)
    people.say(run)
    assert desk.drive(run).state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_an_approved_effect_is_released_once(vendor: Vendor) -> None:
    wants(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    people.say(run)
    assert desk.drive(run).state == RunState.COMPLETED
    assert vendor.moved() == FORTY
    assert tools.kinds(run) == ["intent", "gated", "approved", "sent", "applied"]


def test_a_rejection_reaches_the_step_with_the_reviewers_own_words(vendor: Vendor) -> None:
    wants(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    people.say(run, Verdict.REJECT, words="not this customer, see ticket 7")
    assert desk.drive(run).state == RunState.COMPLETED
    (no,) = tools.got
    assert isinstance(no, EffectRefused)
    assert (no.state, no.words) == ("rejected", "not this customer, see ticket 7")
    assert vendor.requests("POST") == []


def test_an_expired_gate_is_a_refusal_and_no_rejection(vendor: Vendor) -> None:
    wants(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    tools.later(run, days=4)
    (no,) = tools.got
    assert isinstance(no, EffectRefused) and no.state == "expired"
    assert vendor.requests("POST") == []


# Pending: an open request.


def lost_answer(vendor: Vendor, tool: Any, fault: str = "drop", **more: Any) -> Any:
    """A run whose one refund went out and was never answered; claims keep failing until the fault is over."""
    wants(vendor, tool)
    vendor.fault(fault, method="POST", path="/v1/refunds", **more)
    return desk.drive(tools.start())


@pytest.mark.parametrize("kind", [tools.K, tools.U], ids=lambda one: one.name)
def test_a_receipt_that_the_vendor_shows_is_adopted_and_nothing_is_sent(
    vendor: Vendor, kind: tools.VendorClass
) -> None:
    vendor.modes(**kind.modes)
    run = lost_answer(vendor, kind.tool)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY
    assert len(vendor.requests("POST", "/v1/refunds")) == 1
    assert tools.kinds(run) == ["intent", "sent", "no answer", "adopted"]
    assert tools.effect(run).adopted and tools.effect(run).receipt_id == vendor.book()[0]["id"]


def test_a_miss_under_an_honoured_young_key_is_sent_again_with_the_same_key_and_body(vendor: Vendor) -> None:
    run = lost_answer(vendor, tools.keyed, "status", status=503)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY
    assert [one["key"] for one in vendor.requests("POST", "/v1/refunds")] == [f"{run.ref}:pay"] * 2


def test_a_look_up_that_cannot_say_is_no_reason_not_to_repeat_under_a_young_key(vendor: Vendor) -> None:
    vendor.fault("status", status=503, method="GET", path="/v1/refunds")
    run = lost_answer(vendor, tools.keyed, "status", status=503)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_a_miss_without_a_key_is_never_sent_again_by_software(vendor: Vendor) -> None:
    vendor.modes(keys="ignore")
    run = lost_answer(vendor, tools.unkeyed, "hang", seconds=0)
    for _ in range(12):
        tools.later(run, seconds=10)
    assert desk.effects(run) == {"pay": "in doubt"}
    assert "honours no key" in tools.attention(run)[0]
    assert len(vendor.requests("POST", "/v1/refunds")) == 1


def test_an_old_key_is_not_repeated(vendor: Vendor) -> None:
    run = lost_answer_then_older(vendor, hours=13)
    assert desk.effects(run) == {"pay": "in doubt"}
    assert "too old" in tools.attention(run)[0]
    assert vendor.requests("POST") == []


def test_a_key_short_of_half_its_life_is_repeated(vendor: Vendor) -> None:
    run = lost_answer_then_older(vendor, hours=11)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def lost_answer_then_older(vendor: Vendor, **length: float) -> Any:
    """The worker dies after the `sent` event, before the request; its lease and more goes by."""
    wants(vendor)
    tools.before.append(die)
    run = tools.start()
    with pytest.raises(Killed):
        desk.drive(run)
    tools.before.clear()
    desk.time_passes(**length)
    return desk.drive(run)


def test_an_error_saved_under_the_key_ends_repeats(vendor: Vendor) -> None:
    run = lost_answer(vendor, tools.keyed, "error", saved=True)
    tools.later(run, seconds=2)
    for _ in range(12):
        tools.later(run, seconds=10)
    assert desk.effects(run) == {"pay": "in doubt"}
    assert "error under our key" in tools.attention(run)[0]
    assert vendor.moved() == []
    assert len(vendor.requests("POST", "/v1/refunds")) == 2


def test_several_candidates_go_before_a_person_with_all_of_them_shown(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = wants(vendor)
    for _ in range(2):
        vendor.client().v1.refunds.create({"charge": args["charge"], "amount": 4000})
    vendor.fault("hang", method="POST", path="/v1/refunds", seconds=0)
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "in doubt"}
    wait = tools.effect(run).waits.get()
    assert len(wait.detail["candidates"]) == 2
    assert "2 that could be it" in wait.detail["sentence"]


@pytest.mark.parametrize("field", ["amount", "currency", "target", "key"])
def test_a_receipt_that_does_not_match_is_not_taken(vendor: Vendor, field: str) -> None:
    wrong: dict[str, Any] = {
        "amount": Decimal("41.00"),
        "currency": "USD",
        "target": "ch_other",
        "key": "run-x:pay",
    }
    tools.after.append(lambda call, receipt: replace(receipt, **{field: wrong[field]}))
    wants(vendor)
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "in doubt"}
    assert run.state == RunState.SUSPENDED
    evidence = tools.effect(run).waits.get().detail
    assert evidence["candidates"][0]["id"] == vendor.book()[0]["id"]


def test_a_receipt_of_another_effect_proves_nothing(vendor: Vendor) -> None:
    wants(vendor)
    first = desk.drive(tools.start())
    taken = tools.effect(first).receipt_id
    tools.after.append(lambda call, receipt: replace(receipt, id=taken))
    wants(vendor)
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "in doubt"}
    assert f"{taken} belongs to another effect" in tools.attention(run)[0]


# Applied, failed.


def test_an_applied_effect_answers_a_repeated_step_with_its_receipt_and_payload(vendor: Vendor) -> None:
    args = wants(vendor)
    vendor.fault("status", status=400, method="POST", contains="nothing")
    tools.asks((tools.keyed, args), (tools.letter, {"to": "ada@example.org"}))
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "applied", "pay#2": "gated"}
    people.say(run)
    desk.drive(run)
    first, again = tools.got[0], tools.got[1]
    assert first == again and first.id == vendor.book()[0]["id"]
    assert first.decided == {"charge": args["charge"], "amount": "40.00", "currency": "EUR"}
    assert vendor.moved() == FORTY


def test_a_definitive_no_is_an_error_for_the_step_and_stays_one(vendor: Vendor) -> None:
    wants(vendor, amount="100.00")
    desk.drive(tools.start())
    args = {"charge": vendor.book()[0]["target"], "amount": Decimal("40.00")}
    tools.got.clear()
    tools.asks((tools.keyed, args), (tools.letter, {"to": "ada@example.org"}))
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "failed", "pay#2": "gated"}
    posts = len(vendor.requests("POST", "/v1/refunds"))
    people.say(run)
    desk.drive(run)
    assert [type(one) for one in tools.got[:2]] == [EffectFailed, EffectFailed]
    assert tools.got[0].code == "charge_already_refunded"
    assert len(vendor.requests("POST", "/v1/refunds")) == posts


def test_an_unreadable_look_up_is_no_absence(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    vendor.modes(keys="ignore")
    monkeypatch.setattr(tools.unkeyed, "lookup_function", lambda call: "nothing there")
    run = lost_answer(vendor, tools.unkeyed)
    tools.later(run, minutes=5)
    assert desk.effects(run) == {"pay": "pending"}
    monkeypatch.setattr(tools.unkeyed, "lookup_function", stripe_refunds.find_refund)
    tools.later(run, minutes=10)
    assert desk.effects(run) == {"pay": EffectState.APPLIED.value}
    assert vendor.moved() == FORTY
