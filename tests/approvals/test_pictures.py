"""The pictures of the first page: what has happened lately, with the list behind each number."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils.html import escape

from approvals.charts import even, top
from approvals.models import Decision
from approvals.queries import trends
from durable.clock import db_now
from durable.models import Effect, Run
from durable.models.fields import Clock
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.listing import listed

pytestmark = pytest.mark.django_db


def test_the_pictures_count_what_their_lists_hold(sign_in: SignIn) -> None:
    ended, failed, old = (Run.objects.get(pk=factories.running().run_id) for _ in range(3))
    for run, state, hours in ((ended, "completed", 1), (failed, "failed", 2), (old, "completed", 24 * 8)):
        Run.objects.filter(pk=run.pk).update(state=state, ended_at=Clock() - timedelta(hours=hours))
    paid = factories.propose(factories.running(), order="1", amount="40.00", currency="EUR")
    Effect.objects.filter(pk=paid.pk).update(state="applied", settled_at=Clock() - timedelta(hours=1))
    gate, alice = factories.gate(), factories.person("alice")
    sign_in(alice).post(
        reverse("decisions", args=[gate.pk]), {"verdict": "approve", "digest": gate.digest, "round": 1}
    )
    olga = sign_in(factories.person("olga"))
    for period in trends.PERIODS:
        shown = olga.get(reverse("home"), {"period": period}).context
        through, took, (moved,) = shown["throughput"], shown["decisions"], shown["moved"]
        assert (through["total"], through["failed"], took["total"]) == ("2", "1", "1")
        assert (moved["total"], moved["acts"]) == ("40.00 EUR", "1 act")
        for href, number in (
            (through["total_href"], 2), (through["failed_href"], 1), (took["total_href"], 1), (moved["href"], 1),
        ):  # fmt: skip
            assert listed(olga, href) == number, href


def test_every_currency_that_moved_stands_there_with_its_list_and_three_have_a_picture(
    sign_in: SignIn,
) -> None:
    currencies = ["EUR", "USD", "GBP", "JPY", "CHF"]
    for currency in currencies:
        claim = factories.running(limits={currency: 10_000_000})
        paid = factories.propose(claim, order="1", amount="40", currency=currency)
        Effect.objects.filter(pk=paid.pk).update(state="applied", settled_at=Clock() - timedelta(hours=1))
    olga = sign_in(factories.person("olga"))
    answer = olga.get(reverse("home"))
    pictures, besides = answer.context["moved"], answer.context["moved_besides"]
    assert len(pictures) == 3 and all("chart" not in one for one in besides)
    assert sorted(one["total"][-3:] for one in [*pictures, *besides]) == sorted(currencies)
    for one in besides:
        assert f'<a href="{escape(one["href"])}">{one["total"]}</a> by 1 act' in answer.content.decode()
        assert listed(olga, one["href"]) == 1


def test_the_table_behind_a_picture_holds_its_numbers(sign_in: SignIn) -> None:
    run = Run.objects.get(pk=factories.running().run_id)
    Run.objects.filter(pk=run.pk).update(state="completed", ended_at=Clock())
    chart = sign_in(factories.person("olga")).get("/").context["throughput"]["chart"]
    assert len(chart.rows) == 24
    assert [row[1:] for row in chart.rows if row[1:] != ("0", "0", "0")] == [("1", "0", "0")]
    assert [(bar.look, bar.height) for bar in chart.bars] == [("done", "50.00%")]


def test_a_poll_of_the_first_page_draws_no_picture(sign_in: SignIn) -> None:
    olga = sign_in(factories.person("olga"))
    htmx = {"HX-Request": "true"}
    version = olga.get(reverse("home")).context["version"]
    assert olga.get(reverse("home"), {"seen": version}, headers=htmx).status_code == 204
    lists = olga.get(reverse("home"), {"seen": "older"}, headers=htmx).content
    drawn = olga.get(reverse("home"), {"part": "trends", "period": "7d"}, headers=htmx).content
    assert b'<svg class="plot"' not in lists and b'id="home"' in lists
    assert b'<svg class="plot"' in drawn and b'id="home"' not in drawn


def test_a_period_begins_at_a_full_hour_and_its_last_bucket_is_the_present_one() -> None:
    now = datetime(2026, 11, 26, 14, 20, 7, tzinfo=UTC)
    moments = list(trends.PERIODS["24h"].moments(now))
    assert (moments[0], moments[-1]) == (
        datetime(2026, 11, 25, 15, tzinfo=UTC),
        datetime(2026, 11, 26, 14, tzinfo=UTC),
    )
    assert list(trends.PERIODS["7d"].moments(now))[-1] == datetime(2026, 11, 26, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("most", "end", "whole"),
    [(0, 1, 2), (1, 1, 2), (3, 4, 4), (5, 5, 8), (41, 50, 50), (950, 1000, 1000)],
)
def test_a_scale_ends_at_the_next_round_number(most: float, end: float, whole: float) -> None:
    assert (top(most), even(most)) == (end, whole)


def test_a_decision_is_among_those_of_the_period_in_which_it_was_given() -> None:
    gate, alice = factories.gate(), factories.person("alice")
    assert list(trends.decided(db_now() - timedelta(hours=1))) == []
    sealed = gate.payload
    made = Decision.objects.create(
        gate=gate,
        person=alice,
        verdict="reject",
        digest=gate.digest,
        round=1,
        sealed=sealed,
        authenticated="session",
    )
    assert list(trends.decided(db_now() - timedelta(hours=1))) == [made]
    assert list(trends.decided(db_now() + timedelta(hours=1))) == []
