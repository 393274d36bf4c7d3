"""Amounts are exact and carry their currency; moments carry their zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.template import Context, Template
from django.utils import timezone

NOW = datetime(2026, 11, 26, 13, 20, tzinfo=UTC)


def drawn(source: str, **context: object) -> str:
    with timezone.override(ZoneInfo("Europe/Berlin")):
        return Template("{% load interlock %}" + source).render(Context({"now": NOW} | context))


@pytest.mark.parametrize(
    ("minor", "currency", "shown"),
    [
        (18450, "EUR", "184.50 EUR"),
        (1240000, "JPY", "1,240,000 JPY"),
        (1500, "KWD", "1.500 KWD"),
        (5, "EUR", "0.05 EUR"),
        (0, "EUR", "0.00 EUR"),
        (-1290, "EUR", "-12.90 EUR"),
        (9007199254740991, "EUR", "90,071,992,547,409.91 EUR"),
        # Sums are larger than any single amount.
        (12345678901234567890123, "EUR", "123,456,789,012,345,678,901.23 EUR"),
        (-(10**30), "JPY", f"-{10**30:,} JPY"),
        (10**30 + 7, "KWD", f"{10**27:,}.007 KWD"),
        (7, "XYZ", "7 minor units of XYZ"),
        (7, "E\u202eU", "7 minor units of E[U+202E]U"),
        (None, "EUR", "\N{EN DASH}"),
    ],
)
def test_an_amount_keeps_its_currencys_decimals(minor: int | None, currency: str, shown: str) -> None:
    assert (
        drawn("{% money minor currency %}", minor=minor, currency=currency)
        == f'<span class="nowrap">{shown}</span>'
    )
    assert drawn("{% amount minor currency as sum %}{{ sum }}", minor=minor, currency=currency) == shown


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("absolute", "17:00 CET"),
        ("short", "17:00"),
        ("clock", "17:00:00"),
        ("relative", "in 2 h 40 min"),
    ],
)
def test_a_moment_names_its_zone_and_its_distance(form: str, shown: str) -> None:
    answer = drawn("{% when at form %}", at=NOW + timedelta(hours=2, minutes=40), form=form)
    assert (
        answer
        == f'<time datetime="2026-11-26T16:00:00+00:00" title="26 Nov 2026, 17:00:00 CET">{shown}</time>'
    )


def test_another_day_and_another_year_are_named() -> None:
    assert "24 Nov, 16:02 CET" in drawn("{% when at %}", at=datetime(2026, 11, 24, 15, 2, tzinfo=UTC))
    assert "19 Aug 2025, 14:00 CEST" in drawn("{% when at %}", at=datetime(2025, 8, 19, 12, 0, tzinfo=UTC))


def test_the_hour_that_happens_twice_can_be_told_apart() -> None:
    first = drawn('{% when at "absolute" %}', at=datetime(2026, 10, 25, 0, 30, tzinfo=UTC))
    second = drawn('{% when at "absolute" %}', at=datetime(2026, 10, 25, 1, 30, tzinfo=UTC))
    assert "02:30 CEST" in first
    assert "02:30 CET" in second


@pytest.mark.parametrize(
    ("away", "shown"),
    [(0, "now"), (-18_180, "5 h 3 min ago"), (45, "in 45 s"), (93_600, "in 1 d 2 h"), (86_400, "in 1 d")],
)
def test_a_distance_is_told_in_two_units(away: int, shown: str) -> None:
    assert f">{shown}<" in drawn('{% when at "relative" %}', at=NOW + timedelta(seconds=away))


def test_a_moment_that_is_not_there_is_a_dash() -> None:
    assert drawn("{% when at %}", at=None) == "\N{EN DASH}"
