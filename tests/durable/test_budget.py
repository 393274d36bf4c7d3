"""Budgets refuse what limits nothing or means nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from durable.budget import Budget, days, hours, minutes, seconds
from durable.errors import Invalid
from durable.money import Money


def test_spans_are_what_their_names_say() -> None:
    assert days(1) == hours(24) == minutes(1440) == seconds(86400) == timedelta(days=1)


def test_a_budget_limits_each_currency_by_itself() -> None:
    budget = Budget(
        steps=200, tokens=400_000, money=(Money(250, "EUR"), Money(500, "JPY")), deadline=hours(6)
    )
    assert (budget.limit("EUR"), budget.limit("JPY")) == (25000, 500)
    assert Budget(money=Money(250, "EUR")).purses == (Money(250, "EUR"),)


def test_a_currency_without_a_limit_may_not_be_spent() -> None:
    assert Budget(money=Money(250, "EUR")).limit("USD") is None
    assert Budget().limit("EUR") is None
    assert Budget(money=Money(0, "EUR")).limit("EUR") == 0


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"steps": 0}, "steps"),
        ({"steps": -1}, "steps"),
        ({"steps": True}, "steps"),
        ({"steps": 1.5}, "steps"),
        ({"tokens": 0}, "tokens"),
        ({"tokens": "9"}, "tokens"),
        ({"tokens": 2**53 + 1}, "tokens"),
        ({"money": 250}, "money"),
        ({"money": (250,)}, "money"),
        ({"money": [Money(1, "EUR")]}, "money"),
        ({"money": (Money(1, "EUR"), Money(2, "EUR"))}, "money"),
        ({"money": Money(-1, "EUR")}, "money"),
        ({"money": None}, "money"),
        ({"deadline": hours(0)}, "deadline"),
        ({"deadline": hours(-1)}, "deadline"),
        ({"deadline": 3600}, "deadline"),
    ],
)
def test_a_limit_that_limits_nothing_is_refused(limits: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        Budget(**limits)
    assert caught.value.field == f"budget.{field}"
