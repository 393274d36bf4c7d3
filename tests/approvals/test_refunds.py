"""The history of what was moved: its marks add up to the rows, and each opens the search that finds them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from approvals.queries import periods
from approvals.queries.refunds import BARS
from approvals.queries.words import money
from durable import summary
from durable.clock import db_now
from durable.models import Effect, Run

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def applied(currency: str, since: datetime) -> int:
    """What refunds have moved since a moment, row by row."""
    rows = Effect.objects.filter(
        tool="refund", currency=currency, state="applied", undo_of=None, recorded_at__gte=since
    )
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
        leads(reader, one["href"], one["currency"], one["money"].applied, one["number"])
        marks = [(href, row) for href, row in one["chart"].linked if href]
        assert sum(int(row[4]) for _, row in marks) == one["number"]
        for href, row in marks[-3:]:
            leads(reader, href, one["currency"], row[1], int(row[4]))
        for part in one["parts"]:
            assert part["rows"]
            for row in part["rows"]:
                leads(reader, row["href"], one["currency"], row["money"], row["number"])


def _first() -> Any:
    return timezone.localdate(Effect.objects.order_by("pk")[0].recorded_at)


def leads(reader: Client, href: str, currency: str, minor: int | str, number: int | None = None) -> None:
    """The search behind a mark sums up to what the mark says, and finds as many effects."""
    found = reader.get(href).context
    assert number is None or found["page"]["total"] == f"{number:,}", href
    assert found["problems"] == []
    (sums,) = found["sums"] or [None]
    total = 0 if sums is None else sums.applied
    assert (money(total, currency) if isinstance(minor, str) else total) == minor, href


def summed_up(rows: list[Effect]) -> None:
    """Bring the summary up to what a test has changed by hand."""
    with connection.cursor() as cursor:
        cursor.execute(summary.SUM_UP, {"blocks": sorted({row.pk // summary.BLOCK for row in rows})})


def refunds(currency: str, number: int) -> list[Effect]:
    """The newest refunds of different runs that were applied."""
    rows = Effect.objects.filter(tool="refund", state="applied", currency=currency, undo_of=None)
    return list({row.run_id: row for row in rows.order_by("pk")}.values())[-number:]


def test_an_undo_is_neither_counted_as_money_that_moved_nor_listed_behind_a_number(reader: Client) -> None:
    rows = refunds("EUR", 6)
    for act, undo in zip(rows[:3], rows[3:], strict=True):
        Effect.objects.filter(pk=undo.pk).update(undo_of=act)
    summed_up(rows)
    _adds_up(reader, "all")
    found = reader.get(reverse("ledger"), {"q": "tool:refund undo:yes"}).context
    assert {row["id"] for row in found["effects"]} == {undo.key for undo in rows[3:]}


def test_what_waits_for_people_is_not_told_as_something_that_nobody_was_asked_about(reader: Client) -> None:
    rows = Effect.objects.filter(tool="refund", currency="EUR", undo_of=None)
    waits = [row for row in rows if row.state == "gated"]
    assert waits
    page = reader.get(reverse("refunds"), {"period": "all"}).context
    (euros,) = [one for one in page["currencies"] if one["currency"] == "EUR"]
    (people,) = [part for part in euros["parts"] if part["title"] == "By who decided"]
    marks = {row["name"]: row for row in people["rows"] + people["more"]}
    assert marks["not decided yet"]["number"] == len(waits)
    found = reader.get(marks["nobody was asked"]["href"]).context["effects"]
    assert found and not {"gated", "expired", "withdrawn"} & {row["state"] for row in found}


def test_of_many_agents_those_that_moved_least_open_below_the_others(reader: Client) -> None:
    rows = refunds("EUR", 15)
    for number, row in enumerate(rows):
        Run.objects.filter(pk=row.run_id).update(agent=f"Desk{number:02}")
    summed_up(list(Effect.objects.filter(run__in=[row.run_id for row in rows])))
    answer = reader.get(reverse("refunds"), {"period": "all"})
    euros = next(one for one in answer.context["currencies"] if one["currency"] == "EUR")
    agents = euros["parts"][0]
    assert len(agents["rows"]) == BARS and len(agents["more"]) >= len(rows) - BARS
    assert {f"Desk{number:02}" for number in range(15)} <= {
        row["name"] for row in agents["rows"] + agents["more"]
    }
    page = answer.content.decode()
    assert f"and {len(agents['more'])} more" in page
    assert all(escape(row["href"]) in page for row in agents["more"])
    for row in agents["more"][-2:]:
        leads(reader, row["href"], "EUR", row["money"], row["number"])


def test_any_tool_that_moves_money_has_such_a_page_and_nonsense_an_empty_one(reader: Client) -> None:
    page = reader.get(reverse("refunds"), {"tool": "nothing"})
    assert page.context["currencies"] == []
    assert "Nothing moved" in page.content.decode()
    assert "refund" in page.context["tools"]
