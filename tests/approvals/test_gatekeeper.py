"""Which effects wait for people, and when a yes no longer holds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from approvals import policy
from approvals.decisions import Answer, Circumstances, decide
from approvals.gatekeeper import Gatekeeper
from approvals.models import Decision, Gate
from approvals.states import Verdict
from durable.clock import db_now
from durable.errors import Conflict
from durable.models import Effect, Run
from tests import factories

pytestmark = pytest.mark.django_db

HERE = Circumstances(ip="192.0.2.7", browser="test", authenticated="session")


def approved(amount: str = "184.50", **more: Any) -> tuple[Gate, Effect]:
    alice = factories.person("alice")
    gate = factories.gate(amount=amount, **more)
    decide(alice, gate.pk, Answer(Verdict.APPROVE, gate.digest, gate.round), HERE)
    gate.refresh_from_db()
    return gate, Effect.objects.get(pk=gate.effect_id)


@pytest.mark.parametrize(
    ("amount", "currency", "gated"),
    [
        ("100.00", "EUR", False),
        ("100.01", "EUR", True),
        ("100", "JPY", False),
        ("101", "JPY", True),
        ("100.001", "KWD", True),
    ],
)
def test_money_above_a_hundred_of_its_currency_waits_for_a_person(
    amount: str, currency: str, gated: bool
) -> None:
    claim = factories.running(limits={currency: 10_000_000})
    effect = factories.propose(claim, order="8812", amount=amount, currency=currency)
    assert Gate.objects.filter(effect=effect).exists() is gated


def test_small_amounts_for_one_order_add_up_to_a_gate() -> None:
    claim = factories.running()
    first = factories.propose(claim, order="8812", amount="60", currency="EUR")
    other = factories.propose(claim, ordinal=2, order="8813", amount="60", currency="EUR")
    second = factories.propose(claim, ordinal=3, order="8812", amount="40.01", currency="EUR")
    assert not Gate.objects.filter(effect__in=[first, other]).exists()
    assert Gate.objects.get(effect=second).reason.startswith(
        "with earlier ones of this run for this order it comes to 100.01 EUR"
    )


def test_amounts_of_two_currencies_are_never_added() -> None:
    claim = factories.running(limits={"EUR": 100_000, "USD": 100_000})
    factories.propose(claim, order="8812", amount="60", currency="EUR")
    assert not Gate.objects.filter(
        effect=factories.propose(claim, ordinal=2, order="8812", amount="60", currency="USD")
    ).exists()


def test_what_was_rejected_does_not_count_towards_the_sum() -> None:
    alice = factories.person("alice")
    claim = factories.running()
    large = factories.propose(claim, order="8812", amount="150", currency="EUR")
    gate = Gate.objects.get(effect=large)
    decide(alice, gate.pk, Answer(Verdict.REJECT, gate.digest, gate.round, "no"), HERE)
    assert not Gate.objects.filter(
        effect=factories.propose(claim, ordinal=2, order="8812", amount="90", currency="EUR")
    ).exists()


def test_what_gives_money_back_does_not_count_towards_the_sum() -> None:
    claim = factories.running()
    first = factories.propose(claim, order="8812", amount="60", currency="EUR")
    undo = Effect.objects.get(pk=first.pk)
    undo.pk, undo.key, undo.undo_of = None, f"{first.key}:undo", first
    undo.save()
    for subject in first.subjects.all():
        undo.subjects.create(run_id=undo.run_id, kind=subject.kind, hash=subject.hash)
    second = factories.propose(claim, ordinal=2, order="8812", amount="40", currency="EUR")
    assert not Gate.objects.filter(effect=second).exists()


def test_an_edit_or_a_new_ask_is_not_added_to_what_it_replaces() -> None:
    alice, gate = factories.person("alice"), factories.gate(amount="184.50")
    args = {"order": "8812", "amount": "60", "currency": "EUR"}
    decide(alice, gate.pk, Answer(Verdict.EDIT, gate.digest, gate.round, "partial", args), HERE)
    effect = Effect.objects.get(pk=gate.effect_id)
    assert policy.demand(policy.question_of(effect)) is None
    assert Gate.objects.get(effect=effect, round=2).reason == "edited by alice"


def test_a_fork_goes_on_where_the_sum_of_its_parent_stood() -> None:
    claim = factories.running()
    factories.propose(claim, order="8812", amount="60", currency="EUR")
    parent = Run.objects.get(pk=claim.run_id)
    fork = factories.running()
    Run.objects.filter(pk=fork.run_id).update(parent=parent, budget=parent.budget)
    stranger = factories.running()
    assert not Gate.objects.filter(
        effect=factories.propose(stranger, order="8812", amount="60", currency="EUR")
    ).exists()
    again = factories.propose(fork, step="pay_rest", order="8812", amount="60", currency="EUR")
    assert "it comes to 120.00 EUR" in Gate.objects.get(effect=again).reason


def test_a_rule_that_fails_demands_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(question: object) -> policy.Demand | None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM no_such_table")
        return None

    monkeypatch.setattr(policy, "RULES", (broken,))
    effect = factories.propose(factories.running(), order="8812", amount="5", currency="EUR")
    assert Gate.objects.get(effect=effect).reason == "the policy could not be read, so a person must look"


def test_an_approval_lets_its_effect_out_and_is_used_once() -> None:
    gate, effect = approved()
    keeper = Gatekeeper()
    assert keeper.may_release(effect) is None
    keeper.used(effect)
    gate.refresh_from_db()
    used = gate.used_at
    keeper.used(effect)
    gate.refresh_from_db()
    assert used is not None and gate.used_at == used


def test_nothing_is_released_without_an_approval() -> None:
    effect = factories.gate().effect
    assert Gatekeeper().may_release(effect) == "its gate is open"
    with pytest.raises(Conflict, match="no approval"):
        Gatekeeper().used(effect)


def test_an_approval_lapses_after_its_time() -> None:
    gate, effect = approved()
    Gate.objects.filter(pk=gate.pk).update(act_by=db_now() - timedelta(seconds=1))
    assert Gatekeeper().may_release(effect) == "the approval was not used in time"


@pytest.mark.parametrize("how", ["switched off", "role removed"])
def test_an_approval_falls_with_the_right_of_who_gave_it(how: str) -> None:
    gate, effect = approved()
    alice = Decision.objects.get(gate=gate).person
    if how == "switched off":
        alice.is_active = False
        alice.save()
    else:
        alice.groups.clear()
    assert Gatekeeper().may_release(effect) == "alice, who approved it, may no longer decide"


def test_an_approval_of_another_payload_holds_for_nothing() -> None:
    _, effect = approved()
    effect.digest = "f" * 64
    assert Gatekeeper().may_release(effect) == "the approval was for another payload"


def test_an_approval_of_an_earlier_round_holds_for_nothing() -> None:
    _, effect = approved()
    effect.round = 2
    assert Gatekeeper().may_release(effect) == "nobody was asked about round 2"


def test_a_policy_that_now_refuses_keeps_an_approved_effect_in(monkeypatch: pytest.MonkeyPatch) -> None:
    _, effect = approved()
    monkeypatch.setattr(
        policy, "RULES", (lambda question: policy.Demand("pay_out is disabled", refuses=True),)
    )
    assert Gatekeeper().may_release(effect) == "policy changed since this was approved: pay_out is disabled"


def test_a_check_that_fails_keeps_an_approved_effect_in(monkeypatch: pytest.MonkeyPatch) -> None:
    _, effect = approved()
    monkeypatch.setattr(policy, "RULES", (lambda question: 1 // 0,))
    assert Gatekeeper().may_release(effect) == "the approval could not be checked"


def test_an_unused_approval_can_be_superseded_and_stays_in_the_history() -> None:
    gate, effect = approved()
    Gatekeeper().close(effect, "superseded")
    gate.refresh_from_db()
    assert gate.state == "superseded" and gate.decisions.get().verdict == "approve"
    assert Gatekeeper().may_release(effect) == "its gate is superseded"


@pytest.mark.parametrize("change", [{"digest": "f" * 64}, {"round": 9}])
def test_the_database_keeps_a_gate_bound_to_its_payload(change: dict[str, Any]) -> None:
    gate = factories.gate()
    with pytest.raises(DatabaseError, match="stays bound"), transaction.atomic():
        Gate.objects.filter(pk=gate.pk).update(**change)


def test_the_database_opens_no_answered_gate_again() -> None:
    gate, _ = approved()
    with pytest.raises(DatabaseError, match="not opened again"), transaction.atomic():
        Gate.objects.filter(pk=gate.pk).update(state="open")


def test_the_database_lets_an_approval_be_used_once_only() -> None:
    gate, effect = approved()
    Gatekeeper().used(effect)
    with pytest.raises(DatabaseError, match="used once"), transaction.atomic():
        Gate.objects.filter(pk=gate.pk).update(used_at=None)


def test_the_database_refuses_to_change_or_delete_a_decision() -> None:
    gate, _ = approved()
    with pytest.raises(DatabaseError, match="written once"), transaction.atomic():
        Decision.objects.filter(gate=gate).update(verdict="reject")
    with (
        pytest.raises(DatabaseError, match="goes when the ledger no longer speaks of its effect"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("DELETE FROM approvals_decision")
