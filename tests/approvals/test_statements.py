"""Statements of vendors on their pages, and at the top of others while anything is to be explained."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from durable.clock import db_now
from durable.findings import Finding
from durable.models import LedgerEvent, StatementRequest, Unexplained
from tests import factories
from tests.approvals import stated
from tests.approvals.conftest import SignIn
from tests.approvals.test_gate_cases import words_of

pytestmark = pytest.mark.django_db

EVERY = [kind for kind in Finding if kind not in (Finding.BOTH, Finding.BESIDE)]
STRIPE = "vendor=stripe&account="
TOPS = ("home", "refunds", "ledger")


@pytest.fixture
def rita(sign_in: SignIn) -> Client:
    return sign_in(factories.person("rita"))


def page(client: Client, name: str, *args: Any, **query: Any) -> str:
    return client.get(reverse(name, args=args), query).content.decode()


def test_a_clean_statement_says_so_and_nothing_stands_at_the_top(rita: Client) -> None:
    one = stated.made()
    told = page(rita, "statement", one.pk)
    assert "Vendor and ledger agree." in told
    assert "3 · <" in told and "120.00 EUR" in told
    assert not any("do not agree" in page(rita, name) for name in TOPS)
    assert "Clean" in page(rita, "statements")


def test_each_kind_of_difference_is_shown_with_both_sides_and_what_to_do(rita: Client) -> None:
    effect = factories.gate().effect
    one = stated.made()
    for number, kind in enumerate(EVERY):
        stated.differs(one, kind, number=number, effect=None if kind is Finding.VENDOR_ALONE else effect)
    context = rita.get(reverse("statement", args=[one.pk])).context
    assert [group["kind"] for group in context["groups"]] != []
    assert {group["kind"] for group in context["groups"]} == {kind.value for kind in EVERY}
    told = page(rita, "statement", one.pk)
    assert "somebody acted past Interlock" in told
    assert reverse("effect", args=[effect.key]) in told
    only = rita.get(reverse("statement", args=[one.pk]), {"kind": Finding.AMOUNT.value}).context["groups"]
    assert [(group["kind"], len(group["rows"])) for group in only] == [("amounts differ", 1)]
    assert (only[0]["rows"][0]["ledger_minor"], only[0]["rows"][0]["vendor_minor"]) == (2500, 2499)


@pytest.mark.parametrize("who", ["alice", "olga", "rita", "ada", "charlie"])
def test_what_is_to_be_explained_stands_at_the_top_for_all_who_read_the_ledger(
    who: str, sign_in: SignIn
) -> None:
    stated.made(Finding.VENDOR_ALONE, Finding.AMOUNT)
    client = sign_in(factories.person(who))
    for name in TOPS:
        told = client.get(reverse(name)).content.decode()
        assert ("do not agree" in told) == (who != "charlie"), name
        assert (">2 differences to explain</a>" in told) == (who != "charlie"), name


def explain(client: Client, one: Any, *numbers: int, reason: str = "I looked") -> Any:
    address = reverse("statement-explanations", args=[one.pk])
    return client.post(address, {"difference": list(numbers), "reason": reason})


def test_a_person_explains_what_they_tick_and_it_stays_listed_with_their_words(rita: Client) -> None:
    one = stated.made(Finding.VENDOR_ALONE, Finding.AMOUNT)
    first, second = one.found.order_by("id")
    assert explain(rita, one, first.pk, reason="by hand, order 8812").status_code == 303
    assert list(Unexplained.objects.values_list("pk", flat=True)) == [second.pk]
    told = page(rita, "statement", one.pk)
    assert "by hand, order 8812" in told and "1 difference to explain" in told
    assert explain(rita, one, second.pk).status_code == 303
    assert "All that differs has been explained." in page(rita, "statement", one.pk)
    assert not any("do not agree" in page(rita, name) for name in TOPS)
    assert "explained a difference in" in page(rita, "acts", q=f"about:statement:{one.pk}")


def test_an_explanation_without_a_reason_a_tick_or_a_turn_changes_nothing_and_keeps_the_words(
    rita: Client, sign_in: SignIn
) -> None:
    one = stated.made(Finding.VENDOR_ALONE)
    number = one.found.get().pk
    for numbers, reason, status, said in (
        ([number], "  ", 422, "reason"),
        ([], "I looked", 422, "tick"),
        ([number + 1000], "I looked", 422, "must be one of this statement"),
    ):
        answer = explain(rita, one, *numbers, reason=reason)
        assert (answer.status_code, said in answer.content.decode()) == (status, True), said
    assert Unexplained.objects.count() == 1
    assert explain(rita, one, number).status_code == 303
    late = explain(sign_in(factories.person("ada")), one, number, reason="me too")
    assert late.status_code == 409
    assert "has been explained by rita" in late.content.decode()
    assert "me too" in late.content.decode()


def test_what_could_not_be_made_says_why_and_when_it_is_tried_again(rita: Client, sign_in: SignIn) -> None:
    later = db_now() + timedelta(minutes=4)
    asked = stated.request(tries=3, trouble="Stripe answered 503", failing_since=db_now(), due_at=later)
    day = f"{asked.start.day} {asked.start:%b %Y}"
    assert f"The statement of {day} could not be made." in page(rita, "statement", asked.pk)
    assert "Stripe answered 503" in page(rita, "statements")
    sentence = f"The statement of Stripe for {day} could not be made: “Stripe answered 503”"
    assert sentence in words_of(page(sign_in(factories.person("olga")), "system"))


def test_somebody_asks_for_a_statement_from_the_page_and_the_log_knows(
    rita: Client, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    settings.INTERLOCK_AGENTS = ("durable.agents.refund_desk",)
    yesterday = stated.request().start.date().isoformat()
    form = {"account": STRIPE, "first": yesterday, "last": yesterday}
    answer = rita.post(reverse("statement-requests"), form)
    if answer.status_code == 422:  # in the first hour of a day its yesterday has not settled
        assert "can be looked at from" in answer.content.decode()
        form["first"] = form["last"] = (stated.request(3).start.date()).isoformat()
        answer = rita.post(reverse("statement-requests"), form)
    assert answer.status_code == 409  # the schedule asks for it already
    StatementRequest.objects.all().delete()
    answer = rita.post(reverse("statement-requests"), form)
    asked = StatementRequest.objects.get()
    assert (answer.status_code, asked.asked_by) == (303, "rita")
    assert (asked.start.date().isoformat(), asked.end - asked.start) == (form["first"], timedelta(days=1))
    assert LedgerEvent.objects.get(run_ref=f"statement:{asked.pk}").kind == "statement asked"
    assert "It is being made." in page(rita, "statement", asked.pk)
    told = rita.post(reverse("statement-requests"), {**form, "account": "vendor=bank&account="})
    assert (told.status_code, "must be one whose account" in told.content.decode()) == (422, True)


@pytest.mark.parametrize(("first", "last"), [("0001-01-01", "0001-01-02"), ("9999-12-31", "9999-12-31")])
def test_a_day_at_the_end_of_all_calendars_is_refused_in_words(
    rita: Client, settings: Any, first: str, last: str
) -> None:
    settings.INTERLOCK_AGENTS = ("durable.agents.refund_desk",)
    answer = rita.post(reverse("statement-requests"), {"account": STRIPE, "first": first, "last": last})
    assert answer.status_code == 422 and "Nothing was asked: " in answer.content.decode()
    assert not StatementRequest.objects.exists()


def test_tools_that_nobody_can_ask_about_are_named(rita: Client) -> None:
    assert "pay_out" in rita.get(reverse("statements")).context["uncovered"]
    assert "Not covered:" in page(rita, "statements")


def test_the_figures_count_what_is_to_be_explained(sign_in: SignIn) -> None:
    stated.made(Finding.VENDOR_ALONE, Finding.AMOUNT)
    told = sign_in(factories.person("olga")).get(reverse("metrics")).content.decode()
    assert "\ninterlock_statement_differences_unexplained 2\n" in told
    assert 'interlock_part_failed{part="statements"} 0' in told


def test_a_list_that_shows_one_in_the_making_asks_again_and_rests_when_nothing_changes(rita: Client) -> None:
    stated.made()
    own = f'hx-get="{reverse("statements")}'
    assert own not in page(rita, "statements")
    stated.request(2)
    version = rita.get(reverse("statements")).context["version"]
    fragment = {"HX-Request": "true"}
    assert rita.get(reverse("statements"), {"seen": version}, headers=fragment).status_code == 204
    stated.made(back=3)
    assert rita.get(reverse("statements"), {"seen": version}, headers=fragment).status_code == 200
