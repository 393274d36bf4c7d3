"""What a page's form posts: what becomes of it, and what each refusal says in its place."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from approvals.acts import ACTS
from approvals.models import Decision, Gate
from durable import standing, vault
from durable.clock import db_now
from durable.models import Effect, LedgerEvent, Run
from tests import factories
from tests.approvals.answering import MOMENT
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db


def post(client: Client, gate: Gate, verdict: str = "approve", **more: Any) -> Any:
    data = {"verdict": verdict, "digest": gate.digest, "round": gate.round, **more}
    return client.post(reverse("decisions", args=[gate.pk]), data)


def form_of(client: Client, gate: Gate, verdict: str) -> tuple[str, dict[str, str]]:
    """The page's own form for a verdict, read as a browser would: its address and what it would post."""
    page = client.get(reverse("gate", args=[gate.pk])).content.decode()
    for action, body in re.findall(
        r'<form method="post" action="([^"]*)"[^>]*>(.*?)</form>', page, re.DOTALL
    ):
        data = dict(re.findall(r'<input type="(?:hidden|text)" name="([^"]*)" value="([^"]*)"', body))
        if data.get("verdict") == verdict:
            return action, data
    raise AssertionError(f"no form for {verdict}")


def test_the_pages_own_button_approves_and_leads_on_to_the_inbox(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice = sign_in(factories.person("alice"))
    action, data = form_of(alice, gate, "approve")
    answer = alice.post(action, data, follow=True)
    assert answer.redirect_chain == [(reverse("gates"), 303)]
    page = answer.content.decode()
    assert "Decided: approved, Pay out 184.50 EUR." in page
    assert "goes on as soon as a worker takes it" in page
    assert Decision.objects.get(gate=gate).verdict == "approve"
    assert Run.objects.get(pk=gate.effect.run_id).state == "queued"


def test_a_decided_gate_offers_no_act(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice = sign_in(factories.person("alice"))
    post(alice, gate)
    page = alice.get(reverse("gate", args=[gate.pk]))
    assert page.context["approve"] is None and page.context["acts"] == []


def test_the_requesters_page_offers_no_yes_and_says_why(sign_in: SignIn) -> None:
    gate = factories.gate("alice")
    page = sign_in(factories.person("alice")).get(reverse("gate", args=[gate.pk]))
    assert page.context["approve"] is None
    assert [act["label"] for act in page.context["acts"]] == ["Ask back", "Reject"]
    assert "you asked for this run yourself" in page.content.decode()


def test_a_reason_reaches_the_record_with_its_own_line_breaks(sign_in: SignIn) -> None:
    gate = factories.gate()
    post(sign_in(factories.person("alice")), gate, "reject", reason='use "8821"\r\nthanks')
    effect = Effect.objects.select_related("words").get(pk=gate.effect_id)
    assert effect.words is not None and vault.read(effect.words) == 'use "8821"\nthanks'


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"verdict": "reject"}, "say why"),
        ({"verdict": "reject", "reason": " "}, "say why"),
        ({"verdict": "late refusal"}, "choose one of the answers"),
        ({"verdict": "yes"}, "choose one of the answers"),
        ({"digest": "x"}, "what you were shown is not what this page was given"),
        ({"digest": ""}, "what you were shown is missing"),
        ({"round": "0"}, "what you were shown is not what this page was given"),
        ({"round": "9" * 30}, "what you were shown is not what this page was given"),
        ({"reason": "x" * 2001, "verdict": "reject"}, "Nothing was recorded: Reason: "),
        ({"reason": "nul \x00", "verdict": "reject"}, "Nothing was recorded: Reason: "),
    ],
)
def test_a_bad_form_changes_nothing_and_says_what_is_wrong(
    more: dict[str, str], says: str, sign_in: SignIn
) -> None:
    gate = factories.gate()
    answer = post(sign_in(factories.person("alice")), gate, **more)
    assert answer.status_code == 422 and says in answer.context["problem"]
    assert Decision.objects.count() == 0 and Effect.objects.get(pk=gate.effect_id).state == "gated"


def test_a_stale_screen_is_told_so_with_the_difference(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice, bob = sign_in(factories.person("alice")), sign_in(factories.person("bob"))
    action, data = form_of(alice, gate, "edit")
    assert alice.post(action, data | {"arg-amount": "120,00"}).status_code == 303
    answer = post(bob, gate)
    newest = Gate.objects.get(effect=gate.effect, round=2)
    assert answer.status_code == 409
    assert answer.context["gate"]["id"] == newest.pk
    assert [(d.name, d.shown, d.current) for d in answer.context["differences"]] == [
        ("amount", "184.50", "120.00")
    ]
    assert Decision.objects.filter(verdict="approve").count() == 0


def test_a_second_click_and_a_second_person_are_told_in_words(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice, bob = sign_in(factories.person("alice")), sign_in(factories.person("bob"))
    assert post(alice, gate).status_code == 303
    again, other = post(alice, gate), post(bob, gate, "reject", reason="no")
    assert (again.status_code, other.status_code) == (409, 409)
    assert re.fullmatch(rf"Already approved by you at {MOMENT}\.", again.context["problem"])
    assert "it was already approved by Alice at" in other.context["problem"]
    assert Decision.objects.count() == 1


def test_a_late_rejection_is_kept_and_the_page_says_so(sign_in: SignIn) -> None:
    gate = factories.gate()
    Gate.objects.filter(pk=gate.pk).update(decide_by=db_now() - timedelta(seconds=1))
    answer = post(sign_in(factories.person("alice")), gate, "reject", reason="fraud suspected")
    assert answer.status_code == 409 and "your refusal is kept" in answer.context["problem"]
    assert Decision.objects.get(gate=gate).verdict == "late refusal"


def test_a_role_removed_meanwhile_is_said_on_the_page(sign_in: SignIn) -> None:
    alice, gate = factories.person("alice"), factories.gate()
    client = sign_in(alice)
    action, data = form_of(client, gate, "approve")
    alice.groups.clear()
    alice.groups.add(Group.objects.get(name="auditor"))
    answer = client.post(action, data)
    assert answer.status_code == 403 and "do not have the right" in answer.context["problem"]
    assert Decision.objects.count() == 0


def test_a_form_of_another_sign_in_changes_nothing_and_says_so() -> None:
    gate, alice = factories.gate(), factories.person("alice")
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    answer = post(client, gate)
    assert answer.status_code == 403 and b"You are signed in as Alice" in answer.content
    assert Decision.objects.count() == 0


# Edits


def test_an_edit_keeps_every_type_and_every_secret(sign_in: SignIn) -> None:
    claim = factories.running()
    args: dict[str, Any] = {
        "order": "8812",
        "amount": "184.50",
        "currency": "EUR",
        "iban": "DE02120300000000202051",
        "note": None,
    }
    gate = Gate.objects.select_related("effect__run").get(effect=factories.propose(claim, **args))
    factories.suspend(claim)
    alice = sign_in(factories.person("alice"))
    action, data = form_of(alice, gate, "edit")
    assert data["arg-amount"] == "184.50" and "DE02120300000000202051" not in data.values()
    assert alice.post(action, data | {"arg-amount": "99.5", "reason": "partial"}).status_code == 303
    second = Gate.objects.select_related("payload__run").get(effect=gate.effect, round=2)
    assert vault.read(second.payload)["args"] == args | {"amount": "99.50"}
    assert LedgerEvent.objects.filter(effect_key=gate.effect.key, kind="edited").count() == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"arg-amount": "0"}, "amount: must be above 0"),
        ({"arg-amount": "-5"}, "amount: "),
        ({"arg-amount": "1.234"}, "amount: "),
        ({"arg-currency": "XXX"}, "currency"),
        ({}, "the edit changes nothing"),
    ],
)
def test_an_edit_that_is_refused_says_which_argument_and_rule(
    change: dict[str, str], says: str, sign_in: SignIn
) -> None:
    gate = factories.gate()
    alice = sign_in(factories.person("alice"))
    action, data = form_of(alice, gate, "edit")
    answer = alice.post(action, data | change)
    assert answer.status_code in (409, 422) and says in answer.context["problem"]
    assert Decision.objects.count() == 0 and Gate.objects.count() == 1


def test_an_edit_that_was_refused_stands_open_as_it_was_filled_in(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice = sign_in(factories.person("alice"))
    action, data = form_of(alice, gate, "edit")
    page = alice.post(action, data | {"arg-amount": "-5", "reason": "Half of it was used."})
    (again,) = re.findall(r'<section class="card again".*?</section>', page.content.decode(), re.S)
    assert 'value="-5"' in again and "Half of it was used." in again and "must be digits" in again
    assert [act["label"] for act in page.context["acts"]] == ["Ask back", "Reject"]
    fresh = alice.get(reverse("gate", args=[gate.pk]))
    assert "again" not in fresh.context and 'value="-5"' not in fresh.content.decode()


def test_a_question_and_its_answer_go_through_the_page(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice, olga = sign_in(factories.person("alice")), sign_in(factories.person("olga"))
    post(alice, gate, "ask back", reason="which order?")
    page = olga.get(reverse("gate", args=[gate.pk]))
    assert [act["label"] for act in page.context["acts"]] == ["Answer"]
    answer = olga.post(reverse("answers", args=[gate.pk]), {"reason": "8812"})
    second = Gate.objects.get(effect=gate.effect, round=2)
    assert (answer.status_code, answer["Location"]) == (303, reverse("gate", args=[second.pk]))
    assert "8812" in alice.get(reverse("gate", args=[second.pk])).content.decode()


# Commands


def command(client: Client, run: Run, noun: str, **said: Any) -> Any:
    """Post an act as its page would, with the name of how the run stands, whether the page offers it or not."""
    part = next(act.part for act in ACTS if act.noun == noun)
    return client.post(reverse(noun, args=[run.ref]), {"seen": getattr(standing.of(run), part), **said})


def test_an_operator_holds_and_releases_a_run_with_reasons(sign_in: SignIn) -> None:
    gate = factories.gate()
    run, olga = gate.effect.run, sign_in(factories.person("olga"))
    assert command(olga, run, "holds", reason="looks odd").status_code == 303
    run.refresh_from_db()
    assert run.held
    page = olga.get(reverse("run", args=[run.ref]))
    assert "Held by Olga" in page.context["run"]["why"] and page.context["acts"][0]["label"] == "Release"
    assert command(olga, run, "releases", reason="it is fine").status_code == 303
    assert [e.actor for e in LedgerEvent.objects.filter(run_ref=run.ref, kind__in=["held", "released"])] == [
        "olga"
    ] * 2


@pytest.mark.parametrize(
    ("noun", "status", "says"),
    [("releases", 409, "not held"), ("compensations", 409, "only a run that has ended")],
)
def test_a_command_that_does_not_fit_changes_nothing_and_says_why(
    noun: str, status: int, says: str, sign_in: SignIn
) -> None:
    gate = factories.gate()
    olga = sign_in(factories.person("olga"))
    told = LedgerEvent.objects.exclude(kind="refused")  # that it was refused is told, too
    events = told.count()
    answer = command(olga, gate.effect.run, noun, reason="because")
    assert (answer.status_code, told.count()) == (status, events)
    assert says in answer.context["problem"]


def test_a_command_needs_a_reason(sign_in: SignIn) -> None:
    gate = factories.gate()
    answer = command(sign_in(factories.person("olga")), gate.effect.run, "holds", reason=" ")
    assert answer.status_code == 422 and "Nothing was done: Reason: say why" in answer.context["problem"]


def test_a_cancelled_run_loses_its_claim_to_go_on(sign_in: SignIn) -> None:
    gate = factories.gate()
    olga = sign_in(factories.person("olga"))
    assert command(olga, gate.effect.run, "cancellations", reason="wrong customer").status_code == 303
    assert Run.objects.get(pk=gate.effect.run_id).state == "cancelling"
