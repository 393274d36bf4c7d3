"""Several alike gates at once: each decided by itself, each told of, and none that the page did not show."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.models import Decision, Gate
from approvals.queries import alike
from approvals.states import Verdict
from durable.tools import tool
from durable.vendor import Call, Receipt
from tests import factories
from tests.approvals.answering import answer, edited, past
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db


@tool(money="amount", subject="order")
def hand_out_cash(call: Call, order: str, amount: Decimal, currency: str) -> Receipt:
    """Moves money, and can neither be repeated nor taken back."""
    raise NotImplementedError


def shown(client: Client, gate: Gate) -> list[int]:
    return [row["id"] for row in client.get(reverse("alike", args=[gate.pk])).context["rows"]]


def token(gate: Gate) -> str:
    return f"{gate.pk}.{gate.round}.{gate.digest}"


def post(client: Client, gates: list[Gate], verdict: str = "approve", **more: Any) -> Any:
    data = {"gate": [token(gate) for gate in gates], "verdict": verdict, **more}
    return client.post(reverse("alike-decisions", args=[gates[0].pk]), data)


def test_alike_are_small_gates_of_one_tool_and_currency_with_nothing_odd_in_them(sign_in: SignIn) -> None:
    alice = factories.person("alice")
    first, second = factories.gate(amount="120"), factories.gate(amount="150")
    factories.gate(amount="201")
    yen = factories.running(limits={"JPY": 10_000})
    factories.propose(yen, order="8812", amount="120", currency="JPY")
    factories.gate(amount="130", note="pay\u200bpal")
    factories.gate("alice@example.com", amount="130")
    edited(factories.gate(amount="130"), factories.person("bob"))
    client = sign_in(alice)
    assert shown(client, second) == [second.pk, first.pk]
    assert shown(sign_in(factories.person("rita")), second) == []


def test_what_cannot_be_taken_back_is_alike_to_nothing(sign_in: SignIn) -> None:
    handed = []
    for _ in range(2):
        claim = factories.running()
        effect = factories.propose(claim, hand_out_cash, order="8812", amount="120", currency="EUR")
        factories.suspend(claim)
        handed.append(Gate.objects.select_related("effect__run").get(effect=effect))
    alice = sign_in(factories.person("alice"))
    assert shown(alice, handed[0]) == []
    answered = post(alice, handed)
    assert answered.status_code == 422 and "not alike" in answered.context["problem"]
    assert not Decision.objects.exists()


def test_each_chosen_gate_gets_a_decision_of_its_own(sign_in: SignIn) -> None:
    gates = [factories.gate(amount=amount) for amount in ("120", "130", "140")]
    alice = sign_in(factories.person("alice"))
    answered = post(alice, gates[:2])
    assert (answered.status_code, answered["Location"]) == (303, reverse("gate", args=[gates[2].pk]))
    page = alice.get(answered["Location"]).content.decode()
    assert "Decided: approved 2, 250.00 EUR in sum." in page and gates[1].effect.key in page
    made = Decision.objects.order_by("gate_id").values_list("gate_id", "verdict", "digest", "round")
    assert list(made) == [(gate.pk, "approve", gate.digest, 1) for gate in gates[:2]]
    assert Gate.objects.get(pk=gates[2].pk).state == "open"


def test_a_rejection_of_several_needs_a_reason(sign_in: SignIn) -> None:
    gates = [factories.gate(amount=amount) for amount in ("120", "130")]
    alice = sign_in(factories.person("alice"))
    assert post(alice, gates, "reject").status_code == 422
    assert post(alice, gates, "reject", reason="a recall").status_code == 303
    assert set(Decision.objects.values_list("verdict", flat=True)) == {"reject"}


@pytest.mark.parametrize("verdict", ["edit", "ask back", "late refusal", ""])
def test_several_gates_take_no_other_answer(verdict: str, sign_in: SignIn) -> None:
    assert post(sign_in(factories.person("alice")), [factories.gate()], verdict).status_code == 422


def test_each_refusal_is_told_in_its_row_and_stays_ticked(sign_in: SignIn) -> None:
    good, decided, late, changed, other = (
        factories.gate(amount=amount) for amount in ("110", "120", "130", "140", "150")
    )
    bob = factories.person("bob")
    answer(bob, decided)
    past(late)
    edited(changed, bob)
    alice = sign_in(factories.person("alice"))
    answered = post(alice, [good, other, decided, late, changed])
    assert answered.status_code == 409
    results = {result["id"]: result for result in answered.context["results"]}
    assert [results[gate.pk]["done"] for gate in (good, other, decided, late, changed)] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert "already approved by Bob" in results[decided.pk]["words"]
    assert "Too late" in results[late.pk]["words"]
    assert "has changed since your page was made" in results[changed.pk]["words"]
    assert [row["ticked"] for row in answered.context["rows"] if row["id"] == late.pk] == [True]
    assert Decision.objects.filter(person__username="alice", verdict=Verdict.APPROVE.value).count() == 2


def test_nobody_approves_their_own_among_several(sign_in: SignIn) -> None:
    own, other = factories.gate("alice@example.com", amount="120"), factories.gate(amount="130")
    answered = post(sign_in(factories.person("alice")), [other, own])
    assert answered.status_code == 409
    results = {result["id"]: result["done"] for result in answered.context["results"]}
    assert results == {other.pk: True, own.pk: False}
    assert Gate.objects.get(pk=own.pk).state == "open"


def test_together_they_stay_below_a_sum(sign_in: SignIn) -> None:
    gates = [factories.gate(amount="199") for _ in range(6)]
    answered = post(sign_in(factories.person("alice")), gates)
    assert answered.status_code == 422
    assert "at most 200 EUR each and 1,000 EUR in sum" in answered.context["problem"]
    assert not Decision.objects.exists()


def test_what_was_not_shown_is_not_decided(sign_in: SignIn) -> None:
    gate, other = factories.gate(amount="120"), factories.gate(amount="130")
    data = {"gate": [token(gate), f"{other.pk}.1.{gate.digest}"], "verdict": "approve"}
    answered = sign_in(factories.person("alice")).post(reverse("alike-decisions", args=[gate.pk]), data)
    assert answered.status_code == 409
    assert Gate.objects.get(pk=other.pk).state == "open"


def test_the_page_of_alike_gates_asks_no_more_for_twenty_than_for_two(sign_in: SignIn) -> None:
    alice = sign_in(factories.person("alice"))
    gates = [factories.gate(amount="120") for _ in range(2)]
    address = reverse("alike", args=[gates[0].pk])
    alice.get(address)
    with CaptureQueriesContext(connection) as few:
        alice.get(address)
    for _ in range(alike.MOST):
        factories.gate(amount="120")
    with CaptureQueriesContext(connection) as many:
        assert len(alice.get(address).context["rows"]) == alike.MOST
    assert len(many) == len(few) <= 15
