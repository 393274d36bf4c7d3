"""Keys come from the work, bodies are bound to them by the first request, and a turn's effects keep their places."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from approvals.models import Gate
from approvals.states import Verdict
from durable import rounds, steering, vault, verdicts
from durable.agents.desk_tools import fetch_order
from durable.claims import claim
from durable.digest import canonical, sha256
from durable.errors import Conflict, EffectRefused
from durable.ledger import Ask, Place
from durable.models import Effect
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.engine.scenes import FORTY, args, crash_before_the_wire
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


# Keys.


def test_keys_name_run_step_visit_place_link_and_undo(vendor: Vendor) -> None:
    tools.asks((tools.keyed, args(vendor)), (tools.keyed, args(vendor)))
    run = desk.drive(tools.start())
    assert [one["key"] for one in vendor.book()] == [f"{run.ref}:pay", f"{run.ref}:pay#2"]


def test_a_replayed_step_uses_the_same_keys_in_every_attempt(vendor: Vendor) -> None:
    tools.asks((tools.keyed, args(vendor)), (tools.keyed, args(vendor)))
    run = tools.start()
    crash_before_the_wire(run)
    crash_before_the_wire(run)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert sorted(one["key"] for one in vendor.book()) == [f"{run.ref}:pay", f"{run.ref}:pay#2"]


def test_the_digest_in_the_ledger_is_of_the_very_bytes_that_were_decided(vendor: Vendor) -> None:
    wanted = args(vendor)
    tools.asks((tools.wire_out, wanted))
    run = desk.drive(tools.start())
    shown = people.gates(run)[0].digest
    payload = {
        "tool": "wire_out",
        "version": 1,
        "vendor": "bank",
        "account": "",
        "args": {"charge": wanted["charge"], "amount": "40.00", "currency": "EUR"},
    }
    assert shown == tools.effect(run).digest == sha256(canonical(payload))


# Another payload under a key.


def test_a_changed_proposal_voids_the_approval_and_asks_anew(vendor: Vendor) -> None:
    wanted = args(vendor)
    tools.asks((tools.wire_out, wanted))
    run = desk.drive(tools.start())
    people.say(run)
    tools.asks((tools.wire_out, {**wanted, "amount": Decimal("99.00")}))
    desk.drive(run)
    assert vendor.requests("POST") == []
    (gate,) = people.gates(run)
    assert (gate.round, tools.effect(run).amount_minor) == (2, 9900)
    assert Gate.objects.get(effect=gate.effect, round=1).state == "superseded"


def test_a_new_round_shows_what_the_agent_has_said_about_it(vendor: Vendor) -> None:
    wanted = args(vendor)
    tools.asks((tools.wire_out, wanted))
    run = desk.drive(tools.start())
    people.say(run)
    held = claim(run.ref)
    assert held is not None
    ask = Ask.of(tools.wire_out, {**wanted, "amount": Decimal("99.00")}, Place("pay", 1, 1))
    effect = rounds.replace(held, tools.effect(run), replace(ask, said="the rest is due too"))
    assert effect.said is not None and vault.read(effect.said) == "the rest is due too"


def test_another_tool_under_the_key_voids_the_approval_too(vendor: Vendor) -> None:
    tools.asks((tools.wire_out, args(vendor)))
    run = desk.drive(tools.start())
    people.say(run)
    tools.asks((tools.letter, {"to": "ada@example.org"}))
    desk.drive(run)
    assert [gate.round for gate in people.gates(run)] == [2]
    effect = tools.effect(run)
    assert (effect.tool, effect.amount_minor, effect.currency) == ("letter", None, "")


def test_a_new_round_that_needs_nobody_goes_out_at_once(vendor: Vendor) -> None:
    wanted = args(vendor)
    tools.asks((tools.wire_out, wanted))
    run = desk.drive(tools.start())
    tools.asks((tools.keyed, wanted))
    people.say(run)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_after_a_rejection_another_proposal_is_asked_about_and_the_same_stays_refused(vendor: Vendor) -> None:
    wanted = args(vendor)
    tools.asks((tools.wire_out, wanted), (tools.letter, {"to": "ada@example.org"}))
    run = desk.drive(tools.start())
    people.say(run, Verdict.REJECT, words="too much")
    desk.drive(run)
    assert desk.effects(run) == {"pay": "rejected", "pay#2": "gated"}
    tools.asks(
        (tools.wire_out, {**wanted, "amount": Decimal("4.00")}), (tools.letter, {"to": "ada@example.org"})
    )
    people.say(run)
    desk.drive(run)
    assert desk.effects(run)["pay"] == "gated"
    people.say(run)
    desk.drive(run)
    assert vendor.moved() == [Decimal("4.00")]


def test_another_payload_under_a_key_that_was_sent_is_a_conflict_for_people(vendor: Vendor) -> None:
    wanted = args(vendor)
    tools.asks((tools.keyed, wanted))
    run = tools.start()
    crash_before_the_wire(run)
    tools.asks((tools.keyed, {**wanted, "amount": Decimal("41.00")}))
    desk.drive(run)
    assert run.state == RunState.SUSPENDED
    assert tools.attention(run)[0].startswith("conflict: ")
    assert vendor.requests("POST") == []


def test_another_payload_for_what_has_been_applied_is_a_conflict_that_an_operator_closes(
    vendor: Vendor,
) -> None:
    wanted = args(vendor)
    letter = (tools.letter, {"to": "ada@example.org"})
    tools.asks((tools.keyed, wanted), letter)
    run = desk.drive(tools.start())
    tools.asks((tools.keyed, {**wanted, "amount": Decimal("41.00")}), letter)
    people.say(run)
    desk.drive(run)
    assert run.state == RunState.SUSPENDED and tools.attention(run)[0].startswith("conflict: ")
    tools.asks((tools.keyed, wanted), letter)  # the code is mended
    verdicts.acknowledge(f"{run.ref}:pay", actor="olga", reason="deployed the fix")
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_a_conflict_over_an_unsettled_effect_needs_a_verdict_and_no_nod(vendor: Vendor) -> None:
    wanted = args(vendor)
    tools.asks((tools.keyed, wanted))
    run = tools.start()
    crash_before_the_wire(run)
    tools.asks((tools.keyed, {**wanted, "amount": Decimal("41.00")}))
    desk.drive(run)
    with pytest.raises(Conflict):
        verdicts.acknowledge(f"{run.ref}:pay", actor="olga", reason="whatever")


# Several effects, and effects that are not asked for again.


def test_a_turn_records_all_intents_acts_the_free_ones_and_waits_on_all_its_gates(vendor: Vendor) -> None:
    tools.asks(
        (tools.wire_out, args(vendor, "10.00")),
        (tools.keyed, args(vendor, "20.00")),
        (tools.wire_out, args(vendor, "30.00")),
    )
    run = desk.drive(tools.start("Crowd"))
    assert desk.effects(run) == {"pay": "gated", "pay#2": "applied", "pay#3": "gated"}
    assert len(people.gates(run)) == 2
    assert vendor.moved() == [Decimal("20.00")]


def test_no_effect_of_a_turn_leaves_before_all_its_intents_are_recorded(vendor: Vendor) -> None:
    recorded = []
    tools.before.append(lambda call: recorded.append(Effect.objects.filter(run__ref=call.run).count()))
    tools.asks(*((tools.keyed, args(vendor, "20.00")) for _ in range(3)))
    run = desk.drive(tools.start("Crowd"))
    assert run.state == RunState.COMPLETED
    assert recorded == [3, 3, 3]


def test_answers_to_a_turns_gates_reach_their_own_in_any_order(vendor: Vendor) -> None:
    tools.asks((tools.wire_out, args(vendor, "10.00")), (tools.wire_out, args(vendor, "30.00")))
    run = desk.drive(tools.start("Crowd"))
    first, second = people.gates(run)
    people.answer(people.person("alice"), second, Verdict.APPROVE)
    desk.drive(run)
    assert vendor.moved() == [Decimal("30.00")]
    assert run.state == RunState.SUSPENDED
    people.answer(people.person("alice"), first, Verdict.REJECT, words="no")
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert isinstance(tools.got[0], EffectRefused) and tools.got[1].amount == Decimal("30.00")


def test_a_step_that_does_not_ask_again_for_what_it_recorded_stops_at_a_person(vendor: Vendor) -> None:
    tools.asks((tools.keyed, args(vendor)), (tools.keyed, args(vendor)))
    run = tools.start()
    tools.before.append(lambda call: None)
    wanted = tools.script["main"]
    crash_before_the_wire(run, nth=2)
    tools.script["main"] = wanted[:1]
    desk.drive(run)
    assert run.state == RunState.SUSPENDED
    assert "without asking again for" in tools.attention(run)[0]
    tools.script["main"] = wanted
    steering.retry(run.ref, actor="olga", reason="the code is mended")
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY * 2


def test_a_tool_that_only_reads_is_no_effect(vendor: Vendor) -> None:
    tools.asks((fetch_order, {"order": "8812"}))
    run = desk.drive(tools.start())
    assert Effect.objects.filter(run=run).count() == 0
    assert "only reads" in run.error
