"""What an operator says about an effect in doubt, through the page."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from durable.clock import db_now
from durable.ledger import outcome
from durable.models import Effect, LedgerEvent, Run
from durable.states import Attention
from durable.transitions import lock_run
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db

CANDIDATE = {"id": "po_77", "amount": "25.00", "currency": "EUR", "key": None, "target": None}


def doubtful(*, quiet: bool = True) -> Effect:
    """A pay-out of 25 that was sent and never answered; with `quiet`, long enough ago."""
    claim = factories.running()
    effect = factories.propose(claim, order="8812", amount="25", currency="EUR")
    if quiet:
        Effect.objects.filter(pk=effect.pk).update(send_by=db_now() - timedelta(days=1))
    with transaction.atomic():
        run = lock_run(claim.run_ref)
        outcome.put_in_doubt(
            run,
            outcome.locked(effect),
            Attention.IN_DOUBT,
            "It may have landed.",
            {"candidates": [CANDIDATE]},
        )
    factories.suspend(claim)
    effect.refresh_from_db()
    return effect


def say(client: Client, effect: Effect, verdict: str, **more: Any) -> Any:
    return client.post(
        reverse("verdicts", args=[effect.key]), {"verdict": verdict, "reason": "I called them", **more}
    )


def test_the_page_asks_the_question_and_shows_the_evidence(sign_in: SignIn) -> None:
    effect = doubtful()
    page = sign_in(factories.person("olga")).get(reverse("effect", args=[effect.key]))
    assert page.context["effect"]["question"] == "Did this happen: Pay out 25.00 EUR?"
    column = page.context["evidence"]["columns"][0]
    assert (column["id"], column["only"], page.context["verdicts"]["pick"]) == ("po_77", True, True)
    assert [choice["allowed"] for choice in page.context["verdicts"]["choices"]] == [True, True, True, True]
    assert "It may have landed." in page.content.decode()


@pytest.mark.parametrize("who", ["alice", "rita", "ada"])
def test_who_may_not_settle_sees_the_evidence_but_no_form(who: str, sign_in: SignIn) -> None:
    effect = doubtful()
    page = sign_in(factories.person(who)).get(reverse("effect", args=[effect.key]))
    assert page.context["verdicts"] is None and page.context["evidence"]["columns"][0]["id"] == "po_77"


def test_it_happened_takes_over_the_receipt(sign_in: SignIn) -> None:
    effect = doubtful()
    assert say(sign_in(factories.person("olga")), effect, "happened", receipt="po_77").status_code == 303
    effect.refresh_from_db()
    assert (effect.state, effect.receipt_id) == ("applied", "po_77")
    event = LedgerEvent.objects.get(effect_key=effect.key, kind="verdict")
    assert event.actor == "olga"
    assert Run.objects.get(pk=effect.run_id).state == "queued"


def test_it_did_not_happen_sends_a_young_key_again(sign_in: SignIn) -> None:
    effect = doubtful()
    assert say(sign_in(factories.person("olga")), effect, "did not").status_code == 303
    effect.refresh_from_db()
    assert effect.state == "pending"


def test_before_the_request_has_died_down_nobody_says_that_it_did_not_happen(sign_in: SignIn) -> None:
    effect = doubtful(quiet=False)
    olga = sign_in(factories.person("olga"))
    choices = olga.get(reverse("effect", args=[effect.key])).context["verdicts"]["choices"]
    assert [choice["allowed"] for choice in choices] == [True, False, True, True]
    answer = say(olga, effect, "did not")
    assert answer.status_code == 409 and "may still land" in answer.context["problem"]
    effect.refresh_from_db()
    assert effect.state == "in doubt"


@pytest.mark.parametrize(
    "bad",
    [
        {"verdict": "happened"},
        {"verdict": "happened", "receipt": " "},
        {"verdict": "maybe"},
        {"verdict": "did not", "reason": ""},
    ],
)
def test_a_bad_verdict_changes_nothing(bad: dict[str, str], sign_in: SignIn) -> None:
    effect = doubtful()
    events = LedgerEvent.objects.count()
    answer = sign_in(factories.person("olga")).post(
        reverse("verdicts", args=[effect.key]), {"reason": "x"} | bad
    )
    assert (answer.status_code, LedgerEvent.objects.count()) == (422, events)


def test_the_second_verdict_is_told_that_it_is_settled(sign_in: SignIn) -> None:
    effect = doubtful()
    olga = sign_in(factories.person("olga"))
    say(olga, effect, "happened", receipt="po_77")
    answer = say(olga, effect, "did not")
    assert answer.status_code == 409 and re.search("is applied", answer.context["problem"])
