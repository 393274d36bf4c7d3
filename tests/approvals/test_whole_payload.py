"""Nobody says yes to the end of a payload that was not shown to them: a long one is served whole first."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals import payload, whole
from approvals.decisions import Answer, decide
from approvals.errors import Unread
from approvals.models import Decision, Gate
from tests import factories
from tests.approvals.answering import APPROVE, ASK_BACK, EDIT, HERE, REJECT, answer, refusals
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db

LAST = "and 9,000 EUR to somebody else"
ARGS = {"order": "8812", "amount": "120", "currency": "EUR"}
HTMX = {"HX-Request": "true"}


@pytest.fixture
def alice() -> User:
    return factories.person("alice")


@pytest.fixture
def gate() -> Gate:
    """What would be sent ends below any screen's edge."""
    return factories.gate(note="x" * payload.SHOWN_CHARACTERS + LAST)


def opened(client: Client, gate: Gate, **asked: Any) -> str:
    """The proof that comes with all of a payload."""
    return str(client.get(reverse("payload", args=[gate.pk]), **asked).context["whole"])


def post(client: Client, gate: Gate, verdict: str = "approve", **more: str) -> Any:
    """What the gate's page posts."""
    data = {"verdict": verdict, "digest": gate.digest, "round": gate.round, "reason": "because", **more}
    return client.post(reverse("decisions", args=[gate.pk]), data)


def edits() -> dict[str, str]:
    return {f"arg-{name}": value for name, value in ARGS.items()}


def test_the_page_of_a_long_payload_has_neither_its_end_nor_what_would_say_yes_to_it(
    gate: Gate, alice: User, sign_in: SignIn
) -> None:
    page = sign_in(alice).get(reverse("gate", args=[gate.pk]))
    assert {act["id"] for act in page.context["acts"]} == {"ask-back", "reject"}
    body = page.content.decode()
    assert LAST not in body and 'value="approve"' not in body
    assert body.count(f'href="{reverse("payload", args=[gate.pk])}"') == 2


@pytest.mark.parametrize("asked", [{}, {"headers": HTMX}], ids=["a plain page", "a fragment"])
def test_all_of_it_comes_with_the_proof_that_it_was_served_and_with_that_it_is_approved(
    asked: dict[str, Any], gate: Gate, alice: User, sign_in: SignIn
) -> None:
    client = sign_in(alice)
    served = client.get(reverse("payload", args=[gate.pk]), **asked)
    body = served.content.decode()
    assert ("<html" in body) is not bool(asked)
    assert LAST in body and 'class="rest"' not in body
    assert body.count(f'name="whole" value="{served.context["whole"]}"') == 2  # to approve, and to edit
    assert post(client, gate, whole=served.context["whole"]).status_code == 303
    assert Decision.objects.get().verdict == "approve"


@pytest.mark.parametrize("verdict", [APPROVE, EDIT])
@pytest.mark.parametrize("proof", ["", "x" * 43, "another person's", "another gate's"])
def test_without_a_proof_of_ones_own_neither_a_yes_nor_an_edit_is_recorded(
    verdict: str, proof: str, gate: Gate, alice: User, sign_in: SignIn
) -> None:
    client = sign_in(alice)
    if proof == "another person's":
        proof = opened(sign_in(factories.person("bob")), gate)
    elif proof == "another gate's":
        proof = opened(client, factories.gate(note="x" * payload.SHOWN_CHARACTERS + LAST))
    refused = post(client, gate, verdict, whole=proof, **edits())
    assert refused.status_code == 409
    assert "its end was not shown to you yet" in refused.context["problem"]
    assert not Decision.objects.exists()
    (kept,) = refusals(gate)
    assert (kept["actor"], kept["why"], kept["verdict"]) == ("alice", "unread", verdict)


@pytest.mark.parametrize("verdict", [REJECT, ASK_BACK])
def test_a_no_and_a_question_need_no_more_than_was_seen(
    verdict: str, gate: Gate, alice: User, sign_in: SignIn
) -> None:
    assert post(sign_in(alice), gate, verdict).status_code == 303


def test_the_rule_is_the_commands_own_whatever_door_it_comes_through(gate: Gate, alice: User) -> None:
    given = Answer(APPROVE, gate.digest, gate.round)
    with pytest.raises(Unread):
        decide(alice, gate.pk, given, HERE)
    shown = Answer(APPROVE, gate.digest, gate.round, whole=whole.proof(alice, gate))
    assert decide(alice, gate.pk, shown, HERE).verdict == APPROVE


def test_a_long_one_among_alike_gates_is_refused_in_its_row_and_the_others_are_decided(
    gate: Gate, alice: User, sign_in: SignIn
) -> None:
    client, short = sign_in(alice), factories.gate()
    tokens = [f"{one.pk}.{one.round}.{one.digest}" for one in (gate, short)]
    told = client.post(
        reverse("alike-decisions", args=[short.pk]), {"gate": tokens, "verdict": "approve"}
    ).context["results"]
    assert [(one["id"], one["done"]) for one in told] == [(gate.pk, False), (short.pk, True)]
    assert "its end was not shown to you yet" in told[0]["words"]
    assert Decision.objects.get().gate_id == short.pk


def test_what_an_edit_makes_of_it_is_read_anew(gate: Gate, alice: User, sign_in: SignIn) -> None:
    bob = factories.person("bob")
    before = opened(sign_in(bob), gate)
    args = {**ARGS, "note": "y" * payload.SHOWN_CHARACTERS + LAST}
    answer(alice, gate, EDIT, args=args, whole=whole.proof(alice, gate))
    edited = Gate.objects.select_related("effect__run").get(effect=gate.effect, round=2)
    assert post(sign_in(bob), edited, whole=before).status_code == 409
    assert post(sign_in(bob), edited, whole=opened(sign_in(bob), edited)).status_code == 303


def test_an_edit_that_is_refused_leaves_open_what_was_open(gate: Gate, alice: User, sign_in: SignIn) -> None:
    client = sign_in(alice)
    proof = opened(client, gate)
    page = post(client, gate, EDIT, whole=proof, **edits() | {"arg-amount": "a lot"})
    assert page.status_code == 422
    assert (page.context["fold"], page.context["whole"]) == (False, proof)
    assert "a lot" in page.content.decode() and LAST in page.content.decode()


def test_who_could_not_say_yes_reads_it_at_once_and_is_given_no_proof(gate: Gate, sign_in: SignIn) -> None:
    rita = sign_in(factories.person("rita"))
    for name in ("gate", "payload"):
        page = rita.get(reverse(name, args=[gate.pk]))
        assert LAST in page.content.decode() and page.context["whole"] == ""


def test_a_short_payload_needs_no_proof(alice: User, sign_in: SignIn) -> None:
    short, client = factories.gate(), sign_in(alice)
    page = client.get(reverse("payload", args=[short.pk]))
    assert (page.context["fold"], page.context["whole"]) == (False, "")
    assert post(client, short).status_code == 303


def test_to_be_served_all_of_it_costs_no_more_than_a_page(gate: Gate, alice: User, sign_in: SignIn) -> None:
    client = sign_in(alice)
    for headers in ({}, HTMX):
        with CaptureQueriesContext(connection) as queries:
            client.get(reverse("payload", args=[gate.pk]), headers=headers)
        assert len(queries) <= 15
