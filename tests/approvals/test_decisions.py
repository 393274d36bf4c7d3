"""One rule for a person's answer: who may give it, to what, until when, and what everybody else is told."""

from __future__ import annotations

import itertools
import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from approvals.access import Missing
from approvals.decisions import Answer, answer_back, decide
from approvals.errors import Decided, Refused, Stale
from approvals.models import Decision
from approvals.states import Verdict
from durable import tools, vault
from durable.errors import Conflict, Invalid
from durable.models import Effect, LedgerEvent, Purse, Run, Sealed, Wait
from tests import factories
from tests.approvals.answering import APPROVE, ASK_BACK, EDIT, HERE, REJECT, answer, edited, refusals

pytestmark = pytest.mark.django_db

# What an answer does


def test_an_approval_moves_effect_wait_and_run_and_stands_in_the_ledger() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    decision = answer(alice, gate, words="customer called")
    gate.refresh_from_db()
    effect = Effect.objects.get(pk=gate.effect_id)
    assert (gate.state, effect.state, effect.approved_round) == ("approved", "approved", 1)
    assert Wait.objects.get(pk=gate.wait_id).closed_by == "alice"
    assert Run.objects.get(pk=effect.run_id).state == "queued"
    assert gate.closed_at and gate.act_by
    assert abs(gate.act_by - gate.closed_at - gate.act_within) < timedelta(seconds=1)
    event = LedgerEvent.objects.get(effect_key=effect.key, kind="approved")
    body = json.loads(event.body)
    assert event.actor == "alice"
    assert (body["digest"], body["round"], body["gate"], body["decision"]) == (
        gate.digest,
        1,
        gate.pk,
        decision.pk,
    )


def test_words_address_and_browser_of_a_decision_are_sealed() -> None:
    decision = answer(factories.person("alice"), factories.gate(), words="customer called")
    assert vault.read(decision.sealed) == {"words": "customer called", "ip": "192.0.2.7", "browser": "test"}
    with connection.cursor() as cursor:
        cursor.execute("SELECT d::text FROM approvals_decision d")
        assert "192.0.2.7" not in cursor.fetchone()[0]


def test_a_rejection_reaches_the_agent_unchanged_and_gives_the_money_back() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    words = 'wrong customer, use "8821"\nthanks \N{PERSON WITH FOLDED HANDS}'
    answer(alice, gate, REJECT, words)
    effect = Effect.objects.select_related("words").get(pk=gate.effect_id)
    assert effect.state == "rejected" and effect.words is not None
    assert vault.read(effect.words) == words
    assert Purse.objects.get(budget=gate.effect.run.budget).reserved_minor == 0
    assert Run.objects.get(pk=effect.run_id).state == "queued"


def test_an_edit_opens_a_round_that_somebody_else_decides() -> None:
    alice, bob, gate = factories.person("alice"), factories.person("bob"), factories.gate()
    second = edited(gate, alice)
    gate.refresh_from_db()
    assert (gate.state, second.state, second.effect.amount_minor) == ("superseded", "open", 12_000)
    with pytest.raises(Refused, match="you edited what would be sent"):
        answer(alice, second)
    assert answer(bob, second).verdict == "approve"


def test_whoever_edited_may_still_reject() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    second = edited(gate, alice)
    assert answer(alice, second, REJECT).verdict == "reject"


@pytest.mark.parametrize(
    ("args", "field"),
    [
        ({"order": "8812", "amount": "0", "currency": "EUR"}, "args.amount"),
        ({"order": "8812", "amount": "1", "currency": "EUR", "extra": 1}, "args.extra"),
        ({"order": 8812, "amount": "1", "currency": "EUR"}, "args.order"),
        ({"amount": "1", "currency": "EUR"}, "args.order"),
    ],
)
def test_an_edit_that_the_tool_refuses_changes_nothing(args: dict[str, Any], field: str) -> None:
    alice, gate = factories.person("alice"), factories.gate()
    with pytest.raises(Invalid) as refused:
        answer(alice, gate, EDIT, args=args)
    gate.refresh_from_db()
    assert (refused.value.field, gate.state, Decision.objects.count()) == (field, "open", 0)


def test_asking_back_keeps_the_gate_undecided_until_somebody_answers() -> None:
    alice, bob, olga = (factories.person(name) for name in ("alice", "bob", "olga"))
    gate = factories.gate()
    answer(alice, gate, ASK_BACK, "which order is it?")
    gate.refresh_from_db()
    assert (gate.state, Effect.objects.get(pk=gate.effect_id).state) == ("asked back", "gated")
    with pytest.raises(Decided, match="Alice asked back"):
        answer(bob, gate)
    second = answer_back(olga, gate.pk, "8812, as written")
    assert (second.round, second.state, second.digest) == (2, "open", gate.digest)
    assert answer(bob, second).verdict == "approve"


def test_what_was_asked_back_may_be_rejected_before_it_is_answered() -> None:
    alice, gate, other = factories.person("alice"), factories.gate(), factories.gate()
    answer(alice, gate, ASK_BACK)
    assert answer(alice, gate, REJECT).verdict == "reject"
    gate.refresh_from_db()
    other.refresh_from_db()
    assert (gate.state, other.state) == ("rejected", "open")


def test_a_reviewer_does_not_answer_the_question_of_a_reviewer() -> None:
    alice, bob, gate = factories.person("alice"), factories.person("bob"), factories.gate()
    answer(alice, gate, ASK_BACK)
    with pytest.raises(Refused, match="right to answer"):
        answer_back(bob, gate.pk, "because")


def test_only_a_question_is_answered_back() -> None:
    olga, gate = factories.person("olga"), factories.gate()
    with pytest.raises(Conflict, match="Nobody has asked"):
        answer_back(olga, gate.pk, "because")


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        *itertools.product((REJECT, ASK_BACK), ("", "  \n", "x" * 2001, "nul \x00")),
        (APPROVE, "x" * 2001),
        (APPROVE, "nul \x00"),
    ],
)
def test_bad_words_change_nothing(verdict: Verdict, words: str) -> None:
    alice, gate = factories.person("alice"), factories.gate()
    with pytest.raises(Invalid):
        decide(alice, gate.pk, Answer(verdict, gate.digest, gate.round, words), HERE)
    assert Decision.objects.count() == 0 and refusals(gate) == []


# Who may


@pytest.mark.parametrize("name", ["olga", "rita", "ada"])
@pytest.mark.parametrize("verdict", [APPROVE, REJECT, ASK_BACK])
def test_who_may_only_look_decides_nothing_and_the_attempt_is_kept(name: str, verdict: Verdict) -> None:
    somebody, gate = factories.person(name), factories.gate()
    with pytest.raises(Refused, match="do not have the right"):
        answer(somebody, gate, verdict)
    assert Decision.objects.count() == 0
    assert [(one["actor"], one["why"], one["verdict"]) for one in refusals(gate)] == [
        (name, "refused", verdict.value)
    ]


def test_a_stranger_is_told_the_missing_right_whether_the_gate_is_there_or_not() -> None:
    charlie, gate = factories.person("charlie"), factories.gate()
    for gate_id in (gate.pk, gate.pk + 999):
        with pytest.raises(Missing, match=r"^It needs the right to see gates"):
            decide(charlie, gate_id, Answer(APPROVE, gate.digest, 1), HERE)


def test_being_a_superuser_is_no_right_to_decide() -> None:
    root = User.objects.create_superuser("root", password=factories.PASSWORD)
    gate = factories.gate()
    with pytest.raises(Missing):
        answer(root, gate)


@pytest.mark.parametrize("requester", ["alice", "ALICE", "Alice@Example.com"])
def test_the_requester_does_not_approve_but_may_reject(requester: str) -> None:
    alice = factories.person("alice")
    gate = factories.gate(requester)
    for verdict in (APPROVE, EDIT):
        with pytest.raises(Refused, match="you asked for this run yourself"):
            answer(alice, gate, verdict, args={"order": "1", "amount": "1", "currency": "EUR"})
    assert answer(alice, gate, REJECT).verdict == "reject"


@pytest.mark.parametrize("how", ["switched off", "role removed"])
def test_a_right_lost_since_the_page_was_opened_is_lost(how: str) -> None:
    alice, gate = factories.person("alice"), factories.gate()
    alice.has_perm("approvals.decide_gates")  # what an open page knows
    other = User.objects.get(pk=alice.pk)
    other.is_active = how != "switched off"
    other.save()
    if how == "role removed":
        other.groups.clear()
    with pytest.raises((Refused, Missing)):
        answer(alice, gate)
    assert Decision.objects.count() == 0


# What the screen showed


@pytest.mark.parametrize("shown", [{"digest": "f" * 64}, {"round": 2}, {"digest": ""}])
def test_an_answer_to_something_else_is_stale(shown: dict[str, Any]) -> None:
    alice, gate = factories.person("alice"), factories.gate()
    with pytest.raises(Stale) as refused:
        answer(alice, gate, **shown)
    assert (refused.value.gate_id, Decision.objects.count()) == (gate.pk, 0)
    assert [one["why"] for one in refusals(gate)] == ["stale"]


def test_whoever_looks_at_an_old_round_is_shown_the_difference() -> None:
    alice, bob, gate = (
        factories.person("alice"),
        factories.person("bob"),
        factories.gate(iban="DE02120300000000202051"),
    )
    second = edited(gate, alice)
    with pytest.raises(Stale) as refused:
        answer(bob, gate)
    found = {one.name: (one.shown, one.current) for one in refused.value.differences}
    assert refused.value.gate_id == second.pk
    assert found["amount"] == ("184.50", "120.00")
    assert found["iban"][0] == "••••2051 (masked)"
    assert not any("DE0212030" in str(side) for sides in found.values() for side in sides)


def test_what_cannot_be_shown_is_not_approved() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    with tools.isolated():
        tools.registry._tools.pop("pay_out")
        with pytest.raises(Refused, match="can't be shown"):
            answer(alice, gate)
    Sealed.objects.filter(pk=gate.payload_id).update(box=b"x" * 40)
    with pytest.raises(Refused, match="can't be shown"):
        answer(alice, gate)
    assert Decision.objects.count() == 0
    assert answer(alice, gate, REJECT).verdict == "reject"  # a no needs nothing to be shown


def test_another_payload_put_in_place_of_the_gates_own_is_not_approved() -> None:
    alice, gate, other = factories.person("alice"), factories.gate(), factories.gate(note="other")
    run = gate.effect.run
    swapped = vault.seal(run.pk, vault.open_key(run.pk, run.ref), vault.read(other.payload))
    Sealed.objects.filter(pk=gate.payload_id).update(box=swapped.box, digest=swapped.digest)
    with pytest.raises(Refused, match="not what the digest names"):
        answer(alice, gate)
