"""What has gone wrong on the pages of other consoles, and what ours show."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from approvals.models import Decision, Gate
from durable.models import Run
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_forms import form_of
from tests.approvals.test_gate_cases import words_of
from tests.approvals.test_verdicts import doubtful

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def test_somebody_switched_off_decides_nothing_and_whatever_their_page_asks_leads_to_the_sign_in(
    sign_in: SignIn,
) -> None:
    gate, alice = factories.gate(), sign_in(factories.person("alice"))
    page = alice.get(reverse("gate", args=[gate.pk]))
    action, data = form_of(alice, gate, "approve")
    User.objects.update(is_active=False)
    polls = [(reverse("gate", args=[gate.pk]), page.context["seen"]), (reverse("counts"), "x")]
    for path, seen in polls:
        told = alice.get(path, {"seen": seen}, headers=HTMX)
        assert (told.status_code, told["Location"].partition("?")[0]) == (302, reverse("sign-in"))
    assert alice.post(action, data)["Location"].startswith(reverse("sign-in"))
    assert alice.get(reverse("runs"), {"q": "8812"})["Location"].startswith(reverse("sign-in"))
    assert (Gate.objects.get().state, Decision.objects.count()) == ("open", 0)


def test_an_answer_that_never_came_is_in_doubt_on_every_page_and_failed_on_none(sign_in: SignIn) -> None:
    effect, olga = doubtful(), sign_in(factories.person("olga"))
    paths = {
        reverse("effect", args=[effect.key]): "Did this happen: Pay out 25.00 EUR?",
        reverse(
            "run", args=[effect.run.ref]
        ): "Nobody can tell yet whether this happened: Pay out 25.00 EUR.",
        reverse("ledger"): "In doubt",
        reverse("doubts"): "It may have landed.",
    }
    for path, sentence in paths.items():
        page = words_of(olga.get(path).content.decode())
        assert sentence in page and effect.key in page.replace(" ", ""), path
        assert not re.search(r"(?<!not )\bfailed\b", page.partition("Receipt or reason")[2]), path


def test_runs_about_the_same_stand_beside_each_other_each_with_a_state_of_its_own(sign_in: SignIn) -> None:
    first, second = (factories.running(agent=agent) for agent in ("desk_a", "desk_b"))
    for claim in (first, second):
        factories.propose(claim, order="T-77", amount="5", currency="EUR")
    Run.objects.update(input={"order": "T-77"})
    Run.objects.filter(pk=first.run_id).update(state="failed", lease_until=None, error="It fell over.")
    olga = sign_in(factories.person("olga"))
    page = words_of(olga.get(reverse("runs"), {"q": "subject:T-77"}).content.decode())
    for run, agent in ((first, "desk_a"), (second, "desk_b")):
        assert run.run_ref in page and f"{agent}, order T-77" in page
    shown = olga.get(reverse("run", args=[second.run_ref])).context
    assert [step["state"] for step in shown["plan"]] == ["running"] and shown["checkpoints"] == []
