"""A second act of a kind that there may be one of: its gate says what was done, and a yes to it gives its reason."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse

from approvals.errors import Decided
from approvals.models import Decision, Gate
from durable import vault
from durable.models import Effect
from durable.models.fields import Clock
from durable.tools import tool
from durable.vendor import Call, Receipt
from tests import factories
from tests.approvals.answering import APPROVE, MOMENT, REJECT, answer
from tests.approvals.conftest import SignIn
from tests.approvals.test_gate_cases import words_of

pytestmark = pytest.mark.django_db


@tool(
    name="give_back_once",
    idempotent_for=timedelta(hours=24),
    vendor="test bank",
    money="amount",
    subject="order",
    once_per=("order",),
)
def give_back(call: Call, order: str, amount: Decimal, currency: str) -> Receipt:
    """A refund of which an order may have one; nothing here ever sends it."""
    raise NotImplementedError


def asked(order: str = "8812", amount: str = "40.00") -> Effect:
    """A run asks for it, and rests."""
    claim = factories.running()
    effect = factories.propose(claim, give_back, order=order, amount=amount, currency="EUR")
    factories.suspend(claim)
    return effect


def done(**more: Any) -> Effect:
    """The first of its kind, done twelve minutes ago."""
    effect = asked()
    happened = {"state": "applied", "receipt_id": "re_81", "settled_at": Clock() - timedelta(minutes=12)}
    Effect.objects.filter(pk=effect.pk).update(**(happened | more))
    effect.refresh_from_db()
    return effect


def second() -> Gate:
    """The gate of the second run about the same order."""
    return Gate.objects.select_related("effect__run", "wait").get(effect=asked())


def post(client: Any, gate: Gate, **more: Any) -> Any:
    data = {"verdict": "approve", "digest": gate.digest, "round": gate.round, **more}
    return client.post(reverse("decisions", args=[gate.pk]), data)


def test_the_gate_of_a_second_refund_says_what_was_refunded_and_offers_no_yes_without_a_reason(
    sign_in: SignIn,
) -> None:
    first, gate = done(), second()
    page = sign_in(factories.person("alice")).get(reverse("gate", args=[gate.pk]))
    text = page.content.decode()
    assert page.context["approve"] is None
    form = re.search(r'<form(?:(?!</form>).)*value="approve"(?:(?!</form>).)*</form>', text, re.DOTALL)
    assert form is not None and re.search(r'<textarea[^>]* name="reason"[^>]* required', form[0])
    shown = words_of(text)
    assert re.search(rf"Give back once 40\.00 EUR by {first.run.ref} at {MOMENT}, receipt re_81\.", shown)
    assert f"{first.run.ref} has asked for the same already: {first.key} is applied" in shown
    assert "Approve once more" in shown


@pytest.mark.parametrize("reason", ["", " \n\t"])
def test_a_yes_to_it_without_a_reason_is_not_recorded(sign_in: SignIn, reason: str) -> None:
    first, gate = done(), second()
    told = post(sign_in(factories.person("alice")), gate, reason=reason)
    assert told.status_code == 422
    assert (
        f"say why it is done once more: {first.key} did the same, and is applied" in told.context["problem"]
    )
    assert Effect.objects.get(pk=gate.effect_id).state == "gated" and not Decision.objects.exists()


def test_a_yes_with_a_reason_overrides_it_and_the_reason_is_kept(sign_in: SignIn) -> None:
    done()
    gate = second()
    assert post(sign_in(factories.person("alice")), gate, reason="Two parcels broke.").status_code == 303
    decision = Decision.objects.select_related("sealed__run").get()
    assert vault.read(decision.sealed)["words"] == "Two parcels broke."
    assert Effect.objects.get(pk=gate.effect_id).state == "approved"
    with pytest.raises(Decided):
        answer(factories.person("bob"), gate, APPROVE, "me too")


def test_in_bulk_there_is_no_yes_to_it_however_good_the_common_reason(sign_in: SignIn) -> None:
    done()
    gates = [second(), second()]
    alice = sign_in(factories.person("alice"))
    assert alice.get(reverse("alike", args=[gates[0].pk])).context["rows"] == []
    chosen = [f"{gate.pk}.{gate.round}.{gate.digest}" for gate in gates]
    data = {"gate": chosen, "verdict": "approve", "reason": "all of them"}
    told = alice.post(reverse("alike-decisions", args=[gates[0].pk]), data)
    assert told.status_code == 422 and "may have been done already" in told.context["problem"]
    assert not Decision.objects.exists()


def test_the_inbox_says_which_gates_are_about_a_second_one(sign_in: SignIn) -> None:
    done()
    gates = [second(), factories.gate()]
    page = sign_in(factories.person("alice")).get(reverse("gates"))
    rows = [item for group in page.context["queue"]["groups"] for item in group["gates"]]
    assert {row["id"]: row["note"] for row in rows} == {gates[0].pk: "once more", gates[1].pk: ""}


def test_what_is_in_doubt_may_have_been_done(sign_in: SignIn) -> None:
    first = done(state="in doubt", receipt_id="", settled_at=None)
    page = words_of(
        sign_in(factories.person("alice")).get(reverse("gate", args=[second().pk])).content.decode()
    )
    assert f"Give back once 40.00 EUR by {first.run.ref} may have happened: {first.key} is in doubt." in page


def test_what_was_rejected_asks_for_no_reason_of_the_next(sign_in: SignIn) -> None:
    done()
    gate = second()
    answer(factories.person("bob"), gate, REJECT)
    Effect.objects.exclude(pk=gate.effect_id).update(state="failed", receipt_id="", settled_at=None)
    claim = factories.running()
    effect = factories.propose(claim, give_back, order="8812", amount="140", currency="EUR")
    factories.suspend(claim)
    again = Gate.objects.get(effect=effect)
    assert post(sign_in(factories.person("alice")), again).status_code == 303
