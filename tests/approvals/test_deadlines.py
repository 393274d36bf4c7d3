"""A gate's deadline on its page: from that moment on nothing is offered, whether or not the sweeper has closed it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.http import HttpRequest
from django.test import RequestFactory
from django.urls import reverse

from approvals import polls
from approvals.htmx import NotModified, not_modified
from approvals.models import Decision, Gate
from durable.models.fields import Clock
from tests import factories
from tests.approvals.answering import ASK_BACK, answer
from tests.approvals.conftest import SignIn
from tests.approvals.test_forms import form_of

HTMX = {"HX-Request": "true"}


def due(gate: Gate, within: timedelta) -> Gate:
    Gate.objects.filter(pk=gate.pk).update(decide_by=Clock() + within)
    gate.refresh_from_db()
    return gate


@pytest.mark.django_db
def test_past_the_deadline_the_page_offers_nothing_and_the_door_refuses_in_words(sign_in: SignIn) -> None:
    gate, alice = factories.gate(), sign_in(factories.person("alice"))
    action, data = form_of(alice, gate, "approve")
    due(gate, -timedelta(seconds=1))
    for path in (reverse("gate", args=[gate.pk]), reverse("gates")):
        page = alice.get(path)
        assert (page.context["approve"], page.context["acts"]) == (None, [])
        assert "too late. Nothing is sent" in page.content.decode()
    refused = alice.post(action, data)
    assert refused.status_code == 409 and "Too late: it had to be decided by" in refused.context["problem"]
    assert not Decision.objects.exists()


@pytest.mark.django_db
def test_past_the_deadline_nobody_answers_a_question_and_no_list_of_alike_ones_has_it(
    sign_in: SignIn,
) -> None:
    gate, other = factories.gate(amount="120"), factories.gate(amount="130")
    due(gate, -timedelta(seconds=1))
    alice = factories.person("alice")
    rows = sign_in(alice).get(reverse("alike", args=[other.pk])).context["rows"]
    assert [row["id"] for row in rows] == [other.pk]
    answer(alice, other, ASK_BACK, "which order?")
    due(other, -timedelta(seconds=1))
    olga = sign_in(factories.person("olga"))
    assert olga.get(reverse("gate", args=[other.pk])).context["acts"] == []


@pytest.mark.django_db
def test_a_poll_says_that_its_answer_holds_until_the_deadline_and_then_the_page_hears(
    sign_in: SignIn,
) -> None:
    gate, alice = due(factories.gate(), timedelta(seconds=100)), sign_in(factories.person("alice"))
    path = reverse("gate", args=[gate.pk])
    seen = alice.get(path).context["seen"]
    same = alice.get(path, {"seen": seen}, headers=HTMX)
    assert isinstance(same, NotModified) and same.good_for is not None
    assert timedelta(0) < same.good_for <= timedelta(seconds=100)
    due(gate, -timedelta(seconds=1))
    told = alice.get(path, {"seen": seen}, headers=HTMX)
    assert told.status_code == 200 and "Too late to decide" in told.content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("left", "asked"), [(timedelta(0), True), (None, False)])
def test_an_answer_that_holds_no_longer_is_not_given_again_though_no_row_has_changed(
    left: timedelta | None, asked: bool, rf: RequestFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polls, "snapshot", lambda: "1:1:")
    views: list[HttpRequest] = []

    def view(request: HttpRequest) -> NotModified:
        views.append(request)
        return not_modified(left)

    spares = polls.SpareUnchanged(view)
    request = rf.get("/gates/1/", {"seen": "x"}, headers=HTMX)
    request.COOKIES[settings.SESSION_COOKIE_NAME] = "one"
    assert [spares(request).status_code for _ in range(2)] == [204, 204]
    assert (len(views) == 2) is asked
