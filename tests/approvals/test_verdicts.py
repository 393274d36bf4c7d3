"""What an operator says about an effect in doubt, through the page."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from durable import runs
from durable.clock import db_now
from durable.ledger import outcome
from durable.models import Effect, LedgerEvent, Run
from durable.states import Attention
from durable.transitions import lock_effect, lock_run
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
            lock_effect(run, effect.pk),
            Attention.IN_DOUBT,
            "It may have landed.",
            {"candidates": [CANDIDATE]},
        )
    factories.suspend(claim)
    effect.refresh_from_db()
    return effect


def shown(client: Client, effect: Effect) -> dict[str, str]:
    """How things stand, under the names by which the effect's page has a verdict say what it was given upon."""
    page = client.get(reverse("effect", args=[effect.key])).content.decode()
    found = dict(re.findall(r'name="(seen|undoes)" value="([^"]*)"', page))
    return {"seen": "0" * 16, "undoes": ""} | found


def say(client: Client, effect: Effect, verdict: str, **more: Any) -> Any:
    """Say it on the effect's page as it stands now, where it has a form for that; with `seen`, on an older one."""
    if "seen" not in more:
        more = shown(client, effect) | more
    return client.post(
        reverse("verdicts", args=[effect.key]), {"verdict": verdict, "reason": "I called them", **more}
    )


def test_the_page_asks_the_question_and_shows_the_evidence(sign_in: SignIn) -> None:
    effect = doubtful()
    page = sign_in(factories.person("olga")).get(reverse("effect", args=[effect.key]))
    assert page.context["effect"]["question"] == "Did this happen: Pay out 25.00 EUR?"
    column = page.context["evidence"]["columns"][0]
    assert (column["id"], page.context["verdicts"]["pick"]) == ("po_77", True)
    assert [choice["allowed"] for choice in page.context["verdicts"]["choices"]] == [True, True, True, True]
    assert "It may have landed." in page.content.decode()


def radios(page: str) -> dict[str, bool]:
    """The page's candidates, and "" for none of them: whether each is checked as a browser would have it."""
    found = re.findall(r'<input type="radio" name="candidate" value="([^"]*)"[^>]*?( checked)?>', page)
    return {value: bool(checked) for value, checked in found}


def test_no_candidate_is_chosen_beforehand_and_a_choice_can_be_taken_back(sign_in: SignIn) -> None:
    effect, olga = doubtful(), sign_in(factories.person("olga"))
    page = olga.get(reverse("effect", args=[effect.key])).content.decode()
    assert radios(page) == {"": False, "po_77": False}
    refused = say(olga, effect, "happened", receipt="po_own", candidate="po_77")
    assert refused.status_code == 422 and radios(refused.content.decode()) == {"": False, "po_77": True}
    assert say(olga, effect, "happened", receipt="po_own", candidate="").status_code == 303
    effect.refresh_from_db()
    assert effect.receipt_id == "po_own"


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
    events = LedgerEvent.objects.filter(run_ref=effect.run.ref).count()
    answer = say(sign_in(factories.person("olga")), effect, **bad)
    assert (answer.status_code, LedgerEvent.objects.filter(run_ref=effect.run.ref).count()) == (422, events)


@pytest.mark.parametrize("verdict", ["happened", "did not", "undo", "can't tell"])
@pytest.mark.parametrize("seen", ["", "0" * 24, "not hex, 16 long"])
def test_a_verdict_that_does_not_say_what_was_shown_is_refused(
    verdict: str, seen: str, sign_in: SignIn
) -> None:
    effect = doubtful()
    answer = say(sign_in(factories.person("olga")), effect, verdict, receipt="po_77", seen=seen)
    assert answer.status_code == 422 and "reload the page and try again" in answer.context["problem"]
    assert not LedgerEvent.objects.filter(effect_key=effect.key, kind__in=("verdict", "left in doubt"))


def test_a_verdict_given_while_its_meaning_changed_is_refused(sign_in: SignIn) -> None:
    effect, olga = doubtful(), sign_in(factories.person("olga"))
    sent = {"sends": 1, "first_sent_at": db_now() - timedelta(hours=1)}
    Effect.objects.filter(pk=effect.pk).update(**sent)
    page = olga.get(reverse("effect", args=[effect.key])).context["verdicts"]
    assert "Sent again under the same key" in page["choices"][1]["note"]
    Effect.objects.filter(pk=effect.pk).update(first_sent_at=db_now() - timedelta(hours=13))
    answer = say(olga, effect, "did not", seen=page["seen"])
    assert answer.status_code == 409 and "no longer stands" in answer.context["problem"]
    assert "asks anew under a new" in answer.context["verdicts"]["choices"][1]["note"]


def test_a_run_that_has_turned_back_meanwhile_takes_no_verdict_given_before(sign_in: SignIn) -> None:
    effect, olga = doubtful(), sign_in(factories.person("olga"))
    seen = olga.get(reverse("effect", args=[effect.key])).context["verdicts"]["seen"]
    runs.cancel(effect.run.ref, actor="otto", reason="wrong order", undo=True)
    assert say(olga, effect, "did not", seen=seen).status_code == 409
    effect.refresh_from_db()
    assert effect.state == "in doubt"


def test_the_second_verdict_is_told_that_it_is_settled(sign_in: SignIn) -> None:
    effect = doubtful()
    olga = sign_in(factories.person("olga"))
    say(olga, effect, "happened", receipt="po_77")
    answer = say(olga, effect, "did not")
    assert answer.status_code == 409 and re.search("is applied", answer.context["problem"])
