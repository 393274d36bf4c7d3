"""A list of runs that stands open: told what has changed on it, in place, and for next to nothing while nothing has."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.queries.pages import PAGE
from durable.models import Branch, Budget, Run
from tests import factories
from tests.approvals.conftest import fewest
from tests.approvals.test_query_bounds import MOST
from tests.approvals.test_run_list import stuck

# Each change is a commit of its own: that is what a page notices.
pytestmark = pytest.mark.django_db(transaction=True)


def opened(client: Client, query: str = "") -> str:
    """The address at which a page that was just opened asks again."""
    return f"{reverse('runs')}?{client.get(reverse('runs'), {'q': query}).context['poll']}"


def ask(client: Client, poll: str) -> Any:
    return client.get(poll, headers={"HX-Request": "true"})


def test_a_poll_of_an_unchanged_list_is_empty_and_comes_to_cost_one_query(olga: Client) -> None:
    stuck()
    poll = opened(olga)
    with CaptureQueriesContext(connection) as first:
        answer = ask(olga, poll)
    assert (answer.status_code, answer.content) == (204, b"")
    assert len(first) <= MOST
    assert fewest(lambda: ask(olga, poll)) == (204, 1)


def test_a_row_is_told_anew_in_its_place_and_no_other_row_is(olga: Client) -> None:
    one, other = stuck(), stuck()
    poll = opened(olga)
    Run.objects.filter(pk=one.pk).update(step="tell")
    body = ask(olga, poll).content.decode()
    assert f'id="run-{one.pk}" hx-swap-oob="true"' in body and "<code>" in body
    assert f'id="run-{other.pk}"' not in body
    assert f'id="tick-{one.pk}" hx-preserve' in body


def test_a_new_run_is_announced_and_moves_nothing(olga: Client) -> None:
    stuck()
    poll = opened(olga, "status:stuck")
    stuck(), stuck(), factories.gate()
    answer = ask(olga, poll)
    body = answer.content.decode()
    assert "2 new, show them" in body and 'href="/runs/?q=status%3Astuck"' in body
    assert "<tr" not in body
    assert answer.context["page"]["total"] == "3"


def test_a_run_that_leaves_the_list_stays_where_it_is_and_says_so(olga: Client) -> None:
    run = stuck()
    poll = opened(olga, "status:stuck")
    run.waits.update(state="resolved")
    body = ask(olga, poll).content.decode()
    assert f'id="run-{run.pk}"' in body and "not in this list any more" in body


def test_chips_are_told_anew_with_the_rows(olga: Client) -> None:
    stuck()
    poll = opened(olga)
    assert ask(olga, poll).status_code == 204
    stuck()
    body = ask(olga, poll).content.decode()
    assert 'id="run-views" hx-swap-oob="true"' in body and 'id="run-states" hx-swap-oob="true"' in body


def test_a_write_elsewhere_changes_nothing_on_the_page(olga: Client) -> None:
    stuck()
    poll = opened(olga)
    factories.person("bob")
    assert ask(olga, poll).status_code == 204


def test_what_was_told_is_not_told_twice(olga: Client) -> None:
    stuck()
    poll = opened(olga, "status:stuck")
    stuck()
    answer = ask(olga, poll)
    assert "1 new" in answer.content.decode()
    (again,) = re.findall(r'hx-get="([^"]+)"', answer.content.decode())
    assert ask(olga, unescape(again)).status_code == 204


def test_a_poll_that_no_page_has_made_loads_the_page_anew(olga: Client) -> None:
    for nonsense in (
        "",
        "low=x",
        "low=0&rows=x.y",
        "low=0&rows=" + ",".join(["1.a"] + [f"{n}.a" for n in range(60)]),
    ):
        assert ask(olga, f"{reverse('runs')}?{nonsense}")["HX-Refresh"] == "true", nonsense


def test_every_number_of_the_list_is_told_anew_with_what_came(olga: Client) -> None:
    stuck()
    budget, branch = Budget.objects.create(), Branch.objects.create()
    Run.objects.bulk_create(
        Run(ref=f"run-q{n}", agent="refund_desk", input={}, input_digest="0" * 64, requester="shop", state="completed",
            step="pay", budget=budget, branch=branch, due_at=None)
        for n in range(PAGE)
    )  # fmt: skip
    page = olga.get(reverse("runs")).content.decode()
    assert "50 of 51" in page and "All 51 that match" in page
    poll = opened(olga)
    stuck()
    body = ask(olga, poll).content.decode()
    assert 'id="run-total" hx-swap-oob="true">52 in this list' in body
    assert 'id="runs-shown" hx-swap-oob="true">50 of 52' in body
    assert 'id="runs-all" hx-swap-oob="true"' in body and "All 52 that match" in body


def test_a_list_of_nothing_is_told_no_number_that_has_no_place_on_it(olga: Client) -> None:
    poll = opened(olga, "status:stuck")
    stuck()
    body = ask(olga, poll).content.decode()
    assert "1 new, show it" in body and "1 in this list" in body
    assert "runs-shown" not in body and "runs-all" not in body
