"""What has gone wrong at the gates of other consoles, seen and done as a person would: by page and form."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from functools import partial
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

from approvals.decisions import answer_back
from approvals.models import Decision, Gate
from approvals.queries import alike
from durable import vault
from durable.clock import db_now
from durable.digest import canonical, sha256
from durable.models import Budget, Effect, LedgerEvent, Message, Run, Sealed
from durable.models.fields import Clock
from tests import factories
from tests.approvals.answering import ASK_BACK, MOMENT, answer
from tests.approvals.conftest import SignIn
from tests.approvals.test_alike import token
from tests.approvals.test_forms import form_of, post
from tests.together import at_once

pytestmark = pytest.mark.django_db


def page_of(client: Client, gate: Gate) -> str:
    return str(client.get(reverse("gate", args=[gate.pk])).content.decode())


def words_of(page: str) -> str:
    """The page's text as it is read: without markup, entities resolved, one space between words."""
    return " ".join(unescape(strip_tags(page.partition("<main")[2])).split())


def test_what_the_page_shows_has_the_digest_that_the_page_and_the_ledger_name(sign_in: SignIn) -> None:
    claim = factories.running()
    text = 'A "quoted" \u00e9t\u00e9,\n\U0001f44d </ol> &amp; 0.10'
    effect = factories.propose(claim, factories.post_letter, to="ann@example.com", text=text)
    factories.suspend(claim)
    gate = Gate.objects.select_related("effect").get(effect=effect)
    page = page_of(sign_in(factories.person("alice")), gate)
    lines = re.search(r'<ol class="payload".*?</ol>', page, re.DOTALL)
    assert lines is not None
    shown = json.loads(unescape(strip_tags(lines[0])))
    digest = sha256(canonical(shown))
    assert digest in page and shown["args"]["text"] == text
    gated = LedgerEvent.objects.get(effect_key=gate.effect.key, kind="gated")
    assert json.loads(gated.body)["digest"] == digest


def test_what_can_not_be_read_offers_no_yes_and_says_why(sign_in: SignIn) -> None:
    gate = factories.gate()
    Sealed.objects.filter(pk=gate.payload_id).update(box=b"x" * 40)
    answered = sign_in(factories.person("alice")).get(reverse("gate", args=[gate.pk]))
    assert answered.status_code == 200 and answered.context["approve"] is None
    assert "You can't approve this: what would be sent can't be shown" in words_of(answered.content.decode())


@pytest.mark.django_db(transaction=True)
def test_two_posts_of_one_person_at_the_same_moment_are_one_decision_and_a_sentence(sign_in: SignIn) -> None:
    gate, alice = factories.gate(), factories.person("alice")
    clients = [sign_in(alice), sign_in(alice)]
    told = at_once(*(partial(post, client, gate) for client in clients), loses=())
    assert sorted(answered.status_code for answered in told) == [303, 409]
    (second,) = (answered for answered in told if answered.status_code == 409)
    assert re.fullmatch(rf"Already approved by you at {MOMENT}\.", second.context["problem"])
    assert Decision.objects.count() == 1 and Run.objects.get(pk=gate.effect.run_id).state == "queued"


def test_a_draft_that_went_back_three_times_shows_all_that_was_said_in_its_order(sign_in: SignIn) -> None:
    people = {name: factories.person(name) for name in ("alice", "bob", "olga")}
    gate, said = factories.gate(), []
    for asks, question in (("alice", "Which lamp?"), ("bob", "Which shop?"), ("alice", "Which day?")):
        answer(people[asks], gate, ASK_BACK, question)
        answer_back(people["olga"], gate.pk, f"{question[:-1]} as written")
        said += [(asks.capitalize(), question), ("Olga", f"{question[:-1]} as written")]
        gate = Gate.objects.select_related("effect__run").get(effect=gate.effect, round=gate.round + 1)
    bob = sign_in(people["bob"])
    rounds = bob.get(reverse("gate", args=[gate.pk])).context["rounds"]
    assert [(entry["who"], entry["said"]) for entry in rounds] == said
    assert post(bob, gate).status_code == 303
    assert list(Decision.objects.order_by("id").values_list("person__username", "verdict")) == [
        ("alice", "ask back"), ("bob", "ask back"), ("alice", "ask back"), ("bob", "approve"),
    ]  # fmt: skip


def test_the_deadline_of_the_run_stands_beside_that_of_the_gate(sign_in: SignIn) -> None:
    gate = factories.gate()
    ends = db_now() + timedelta(hours=2, minutes=30)
    Budget.objects.filter(pk=gate.effect.run.budget_id).update(deadline=ends)
    page = sign_in(factories.person("alice")).get(reverse("gate", args=[gate.pk]))
    assert page.context["gate"]["deadline"] == ends
    assert re.search(r"Decide by.*Act by.*Run ends by.*in 2 h (29|30) min", words_of(page.content.decode()))


def test_a_second_refund_of_an_order_shows_the_first_with_its_receipt_and_when_it_happened(
    sign_in: SignIn,
) -> None:
    first, second = factories.gate(amount="140"), factories.gate()
    happened = Clock() - timedelta(minutes=12)
    Effect.objects.filter(pk=first.effect_id).update(state="applied", receipt_id="re_81", settled_at=happened)
    page = page_of(sign_in(factories.person("alice")), second)
    beside = re.search(r"Besides this, for order 8812.*?</section>", page, re.DOTALL)
    assert beside is not None
    at = Effect.objects.get(pk=first.effect_id).settled_at
    assert at is not None and f'<time datetime="{at.isoformat(timespec="seconds")}"' in beside[0]
    shown = words_of("<main" + beside[0])
    assert "Pay out 140.00 EUR" in shown and f"{first.effect.key} re_81" in shown
    assert "140.00 EUR moved; 1 of 1 applied." in shown


@pytest.mark.parametrize(
    ("typed", "amount"),
    [
        ("6,95", "6.95"),
        ("1.234,56", "1234.56"),
        ("1,234.56", "1234.56"),
        ("1 234,56", "1234.56"),
        ("\uff16\uff0c\uff19\uff15", "6.95"),
        ("1,234", None),
        ("6.9.5", None),
    ],
)
def test_an_amount_as_people_type_it_is_read_back_before_anybody_says_yes_or_is_refused(
    typed: str, amount: str | None, sign_in: SignIn
) -> None:
    gate = factories.gate()
    alice, bob = sign_in(factories.person("alice")), sign_in(factories.person("bob"))
    action, data = form_of(alice, gate, "edit")
    answered = alice.post(action, data | {"arg-amount": typed}, headers={"Accept-Language": "de"})
    if amount is None:
        assert answered.status_code == 422 and "amount" in answered.context["problem"]
        assert "NaN" not in answered.content.decode() and Gate.objects.count() == 1
    else:
        second = Gate.objects.select_related("payload").get(effect=gate.effect, round=2)
        assert vault.read(second.payload)["args"]["amount"] == amount
        assert f"Approve {float(amount):,.2f} EUR" in words_of(page_of(bob, second))


def test_an_emoji_on_the_limit_of_a_message_is_shown_whole_or_waits_for_the_rest(sign_in: SignIn) -> None:
    family, limit = "\U0001f469\u200d\U0001f469\u200d\U0001f467", 6_000
    run = Run.objects.get(pk=factories.running().run_id)
    assert run.branch is not None
    for no in range(1, 8):
        begin = "a" * (limit - no)
        Message.objects.create(branch=run.branch, no=no, role="user", content=f"{begin}{family} and more")
    Run.objects.filter(pk=run.pk).update(message_count=7)
    said = sign_in(factories.person("olga")).get(reverse("conversation", args=[run.ref])).context["said"]
    assert len(said) == 7
    for message in said:
        assert message["text"].endswith("a") or family in message["text"]
        assert len(message["text"]) + message["left"] == limit - message["no"] + len(f"{family} and more")


def test_more_at_once_than_somebody_can_have_read_are_refused_and_none_of_them_is_decided(
    sign_in: SignIn,
) -> None:
    gate = factories.gate(amount="101")
    made_up = [f"{gate.pk + n}.1.{gate.digest}" for n in range(1, 150)]
    data = {"gate": [token(gate), *made_up], "verdict": "approve"}
    answered = sign_in(factories.person("alice")).post(reverse("alike-decisions", args=[gate.pk]), data)
    assert answered.status_code == 422 and f"at most {alike.MOST}" in answered.context["problem"]
    assert Decision.objects.count() == 0
