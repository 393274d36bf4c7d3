"""The verdict "it happened, undo it": it ends the run and undoes all that it did, so it shows all that beforehand."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from durable.models import Effect, LedgerEvent, Run
from durable.tools import tool
from durable.vendor import Call, Receipt
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_verdicts import doubtful, say, shown

pytestmark = pytest.mark.django_db


@tool(vendor="test shop", idempotent_for=timedelta(hours=24), money="amount", subject="order")
def give_voucher(call: Call, order: str, amount: Decimal, currency: str) -> Receipt:
    raise NotImplementedError


@give_voucher.undo(idempotent_for=timedelta(days=1))
def take_voucher_back(call: Call) -> Receipt:
    raise NotImplementedError


def beside(effect: Effect, *, amount: str = "10", no: int = 2, wanted: Any = give_voucher) -> Effect:
    """One that the run of a pay-out in doubt has applied before."""
    claim = factories.running()
    other = factories.propose(claim, wanted, ordinal=no, order="8812", amount=amount, currency="EUR")
    key = f"{effect.run.ref}:pay#{no}"
    Effect.objects.filter(pk=other.pk).update(run=effect.run_id, key=key, state="applied", applied_no=no)
    return Effect.objects.get(pk=other.pk)


def settler(name: str, *rights: str) -> User:
    person = factories.person(name)
    person.groups.clear()
    wanted = Permission.objects.filter(codename__in=("see_ledger", "see_runs", *rights))
    person.user_permissions.set(wanted)
    return person


def back(client: Client, effect: Effect) -> list[str]:
    lines: list[str] = client.get(reverse("effect", args=[effect.key])).context["verdicts"]["back"]
    return lines


def test_the_verdict_shows_all_that_is_undone_in_its_order_and_what_can_not_be(olga: Client) -> None:
    effect = doubtful()
    beside(effect, amount="10", no=2)
    beside(effect, amount="5", no=3, wanted=factories.pay_out)
    assert back(olga, effect) == [
        "No new effect starts, and the run never goes on.",
        "Then, in this order:",
        "1. Can't be undone: Pay out 25.00 EUR (pay).",
        "2. Can't be undone: Pay out 5.00 EUR (pay).",
        "3. Undone: Give voucher 10.00 EUR (pay), by take_voucher_back.",
        "Money that moves by all this: 10.00 EUR.",
    ]
    page = olga.get(reverse("effect", args=[effect.key])).content.decode()
    assert "3. Undone: Give voucher 10.00 EUR" in page


def test_nothing_is_undone_that_the_page_did_not_show(olga: Client) -> None:
    effect = doubtful()
    seen = shown(olga, effect)
    beside(effect)
    answer = say(olga, effect, "undo", receipt="po_77", **seen)
    assert answer.status_code == 409 and "has moved on since your page was made" in answer.context["problem"]
    assert (Effect.objects.get(pk=effect.pk).state, Run.objects.get(pk=effect.run_id).state) == (
        "in doubt",
        "suspended",
    )
    assert say(olga, effect, "undo", receipt="po_77").status_code == 303
    assert Run.objects.get(pk=effect.run_id).state == "cancelling"


def test_without_what_was_shown_there_is_no_undo_and_other_verdicts_need_it_not(olga: Client) -> None:
    effect = doubtful()
    answer = say(olga, effect, "undo", receipt="po_77", undoes="")
    assert answer.status_code == 422 and "what you were shown" in answer.context["problem"]
    assert say(olga, effect, "happened", receipt="po_77", undoes="").status_code == 303


def test_an_undo_takes_the_right_to_steer_runs_and_the_refusal_is_logged(sign_in: SignIn) -> None:
    effect = doubtful()
    client = sign_in(settler("bob", "settle_effects"))
    choice = client.get(reverse("effect", args=[effect.key])).context["verdicts"]["choices"][2]
    assert not choice["allowed"] and "hold, release, cancel" in choice["note"]
    answer = say(client, effect, "undo", receipt="po_77")
    assert answer.status_code == 403 and "hold, release, cancel" in answer.context["problem"]
    assert Effect.objects.get(pk=effect.pk).state == "in doubt"
    assert say(client, effect, "happened", receipt="po_77").status_code == 303


def test_the_money_limit_looks_at_all_that_moves(olga: Client, sign_in: SignIn, settings: Any) -> None:
    settings.VERDICT_ALONE_LIMIT = 30
    effect = doubtful()  # of 25
    beside(effect, amount="10")
    assert "another one must say the same" in olga.get(reverse("effect", args=[effect.key])).content.decode()
    say(olga, effect, "undo", receipt="po_77")
    assert Effect.objects.get(pk=effect.pk).state == "in doubt"
    assert LedgerEvent.objects.filter(effect_key=effect.key, kind="verdict proposed").count() == 1
    alice = sign_in(factories.person("alice"))  # who joins a verdict of somebody who may steer runs
    assert say(alice, effect, "undo", receipt="po_77").status_code == 303
    assert Run.objects.get(pk=effect.run_id).state == "cancelling"


def test_a_second_person_joins_only_in_what_the_first_was_shown(
    olga: Client, sign_in: SignIn, settings: Any
) -> None:
    settings.VERDICT_ALONE_LIMIT = 20
    effect = doubtful()
    say(olga, effect, "undo", receipt="po_77")
    beside(effect)
    alice = sign_in(factories.person("alice"))
    assert say(alice, effect, "undo", receipt="po_77").status_code == 403
    assert Effect.objects.get(pk=effect.pk).state == "in doubt"


def test_nobody_joins_an_undo_of_somebody_who_may_not_steer_runs_any_more(
    sign_in: SignIn, settings: Any
) -> None:
    settings.VERDICT_ALONE_LIMIT = 20
    effect, person = doubtful(), factories.person("olga")
    say(sign_in(person), effect, "undo", receipt="po_77")
    person.groups.clear()
    answer = say(sign_in(factories.person("alice")), effect, "undo", receipt="po_77")
    assert answer.status_code == 403 and Effect.objects.get(pk=effect.pk).state == "in doubt"
