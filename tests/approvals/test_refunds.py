"""The history of what was moved: its marks add up to the rows, and each opens the search that finds them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals.queries import periods
from approvals.queries.words import money
from durable.clock import db_now
from durable.models import Effect

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def applied(currency: str, since: datetime) -> int:
    """What refunds have moved since a moment, row by row."""
    rows = Effect.objects.filter(tool="refund", currency=currency, state="applied", recorded_at__gte=since)
    return sum(minor or 0 for minor in rows.values_list("amount_minor", flat=True))


ZONES = {"30d": "UTC", "90d": "Asia/Kolkata", "1y": "America/St_Johns", "all": "Europe/Berlin"}


def test_marks_add_up_to_the_rows_and_lead_to_them(reader: Client) -> None:
    for period, zone in ZONES.items():
        assert reader.post(reverse("time-zone-choices"), {"zone": zone}).status_code == 303
        with timezone.override(zone):
            _adds_up(reader, period)


def _adds_up(reader: Client, period: str) -> None:
    page = reader.get(reverse("refunds"), {"period": period}).context
    first = periods.PERIODS[period].marks(timezone.localdate(db_now()), _first())[0].first
    since = timezone.make_aware(datetime(first.year, first.month, first.day))
    assert (page["tool"], page["title"]) == ("refund", "Refunds")
    right = {currency: total for currency in ("EUR", "JPY", "KWD") if (total := applied(currency, since))}
    assert {
        one["currency"]: one["money"].applied for one in page["currencies"] if one["money"].applied
    } == right
    for one in page["currencies"]:
        leads(reader, one["href"], one["currency"], one["money"].applied)
        marks = [(href, row) for href, row in one["chart"].linked if href]
        assert sum(int(row[4]) for _, row in marks) == one["number"]
        for href, row in marks[-3:]:
            leads(reader, href, one["currency"], row[1])
        for part in one["parts"]:
            assert part["rows"]
            for row in part["rows"]:
                leads(reader, row["href"], one["currency"], row["money"])


def _first() -> Any:
    return timezone.localdate(Effect.objects.order_by("pk")[0].recorded_at)


def leads(reader: Client, href: str, currency: str, minor: int | str) -> None:
    """The search behind a mark sums up to what the mark says."""
    found = reader.get(href).context
    assert found["problems"] == []
    (sums,) = found["sums"] or [None]
    total = 0 if sums is None else sums.applied
    assert (money(total, currency) if isinstance(minor, str) else total) == minor, href


def test_any_tool_that_moves_money_has_such_a_page_and_nonsense_an_empty_one(reader: Client) -> None:
    page = reader.get(reverse("refunds"), {"tool": "nothing"})
    assert page.context["currencies"] == []
    assert "Nothing moved" in page.content.decode()
    assert "refund" in page.context["tools"]
