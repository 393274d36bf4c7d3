"""A poll of a page on which nothing changes costs one query, and what changes is still seen at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals import polls
from approvals.models import Gate
from tests import factories
from tests.approvals.conftest import SignIn, fewest

pytestmark = pytest.mark.django_db(transaction=True)

HTMX = {"HX-Request": "true"}


def poll(client: Client, seen: str) -> tuple[int, int]:
    """Ask as an open inbox does: status, and queries that it took."""
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(reverse("gates"), {"seen": seen}, headers=HTMX)
    assert "no-store" in answer["Cache-Control"]
    return answer.status_code, len(asked)


def opened(client: Client) -> str:
    """Open the inbox, and let it poll once; returns the version that it shows."""
    seen = str(client.get(reverse("gates")).context["queue"]["version"])
    assert poll(client, seen)[0] == 204
    return seen


def test_while_nothing_changes_a_poll_costs_one_query(sign_in: SignIn) -> None:
    factories.gate()
    alice = sign_in(factories.person("alice"))
    seen = opened(alice)

    assert fewest(lambda: alice.get(reverse("gates"), {"seen": seen}, headers=HTMX)) == (204, 1)


def test_a_change_of_any_row_is_seen_by_the_next_poll(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice = sign_in(factories.person("alice"))
    seen = opened(alice)

    Gate.objects.filter(pk=gate.pk).update(state="withdrawn")

    assert poll(alice, seen)[0] == 200


def test_who_lost_a_right_or_the_sign_in_is_told_by_the_next_poll(sign_in: SignIn) -> None:
    alice = sign_in(factories.person("alice"))
    factories.gate()
    seen = opened(alice)

    Group.objects.get(name="reviewer").user_set.clear()
    assert poll(alice, seen)[0] == 403

    alice.session.flush()
    assert poll(alice, seen)[0] == 302


def test_what_one_browser_was_told_is_not_told_to_another(sign_in: SignIn) -> None:
    factories.gate()
    alice, stranger = sign_in(factories.person("alice")), Client()
    charlie = sign_in(factories.person("charlie"))
    seen = opened(alice)

    answers = [one.get(reverse("gates"), {"seen": seen}, headers=HTMX) for one in (stranger, charlie)]
    assert [answer.status_code for answer in answers] == [302, 403]


def test_what_the_clock_alone_changes_is_looked_at_now_and_then(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.gate()
    alice = sign_in(factories.person("alice"))
    monkeypatch.setattr(polls, "_KEPT", timedelta(0))
    seen = opened(alice)

    status, queries = poll(alice, seen)
    assert status == 204 and queries > 1


def test_a_poll_while_the_database_is_away_is_left_to_its_page(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise OperationalError("away")

    alice = sign_in(factories.person("alice"))
    factories.gate()
    seen = opened(alice)
    monkeypatch.setattr(connection, "cursor", away)

    assert polls.snapshot() == ""
    monkeypatch.undo()
    assert poll(alice, seen)[0] == 204


def test_the_menus_numbers_follow_what_waits_and_cost_one_query_while_nothing_changes(
    sign_in: SignIn,
) -> None:
    alice, charlie = sign_in(factories.person("alice")), sign_in(factories.person("charlie"))
    page = alice.get(reverse("ledger"))  # a page of its own poll knows nothing of the inbox
    assert 'id="count-gates"></span>' in page.content.decode()
    seen = page.context["counts_seen"]
    path = reverse("counts")
    assert fewest(lambda: alice.get(path, {"seen": seen}, headers=HTMX)) == (204, 1)
    factories.gate()
    told = alice.get(path, {"seen": seen}, headers=HTMX)
    assert '<span class="count" id="count-gates" hx-swap-oob="true">1</span>' in told.content.decode()
    assert alice.get(path, {"seen": told.context["counts_seen"]}, headers=HTMX).status_code == 204
    statuses = [one.get(path, headers=HTMX).status_code for one in (Client(), charlie, alice)]
    assert statuses == [302, 403, 200] and alice.get(path).status_code == 404
