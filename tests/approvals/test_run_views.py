"""Saved views: a person's own names for queries of the runs list."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import RunView
from approvals.run_views import MOST
from durable.models import LedgerEvent
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db


def keep(client: Client, name: str, q: str) -> int:
    return client.post(reverse("run-views"), {"name": name, "q": q}).status_code


def test_a_saved_view_stands_beside_the_others_for_its_person_alone(olga: Client, sign_in: SignIn) -> None:
    assert keep(olga, "Old and stuck", "older-than:2d STATUS:stuck") == 303
    page = olga.get(reverse("runs"))
    (view,) = page.context["saved"]
    assert (view["name"], view["query"]) == ("Old and stuck", "q=status%3Astuck+older-than%3A2d")
    opened = olga.get(f"{reverse('runs')}?{view['query']}")
    assert opened.context["saved"][0]["current"] and not opened.context["may_save"]
    assert sign_in(factories.person("alice")).get(reverse("runs")).context["saved"] == []


def test_a_view_needs_a_name_of_its_own_and_a_query_that_is_right(olga: Client) -> None:
    assert keep(olga, "Mine", "status:failed") == 303
    assert keep(olga, "Mine", "status:stuck") == 409
    assert keep(olga, "", "status:stuck") == 422
    assert keep(olga, "All", "") == 422
    assert keep(olga, "Bad", "older-than:soon") == 422
    assert RunView.objects.count() == 1


def test_the_log_of_what_was_refused_holds_no_name_of_a_view(olga: Client) -> None:
    assert [keep(olga, "ann@example.org", "status:failed") for _ in range(2)] == [303, 409]
    refused = LedgerEvent.objects.get(kind="refused")
    assert "a view of this name already" in refused.body and "ann@example.org" not in refused.body


def test_there_are_at_most_as_many_views_as_can_stand_beside_each_other(olga: Client) -> None:
    assert {keep(olga, f"View {n}", "status:failed") for n in range(MOST)} == {303}
    assert keep(olga, "One more", "status:failed") == 409


def test_a_view_is_deleted_by_its_person_and_by_nobody_else(olga: Client, sign_in: SignIn) -> None:
    keep(olga, "Mine", "status:failed")
    address = reverse("run-view-deletions", args=[RunView.objects.get().pk])
    assert sign_in(factories.person("alice")).post(address).status_code == 404
    assert olga.post(address).status_code == 303
    assert not RunView.objects.exists()


def test_a_views_name_is_inert_on_the_page(olga: Client) -> None:
    keep(olga, "<img src=x>\u202e", "status:failed")
    page = olga.get(reverse("runs"), {"q": "status:failed"}).content.decode()
    assert "<img src=x" not in page and "\u202e" not in page
