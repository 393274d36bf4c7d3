"""Refunds from one day to another: the reader's days, both included, across clock changes; numbers lead to rows."""

from __future__ import annotations

import itertools
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals.queries import periods
from durable import summary
from durable.clock import db_now
from durable.models import Effect
from tests.approvals.test_refunds import leads

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def moved(zone: ZoneInfo, first: date, last: date) -> dict[str, int]:
    """What refunds moved on these days of a zone, row by row; each day ends where the next begins."""
    start, end = (
        datetime(day.year, day.month, day.day, tzinfo=zone) for day in (first, last + timedelta(days=1))
    )
    sums: dict[str, int] = {}
    rows = Effect.objects.filter(
        tool="refund", state="applied", undo_of=None, recorded_at__gte=start, recorded_at__lt=end
    )
    for currency, minor in rows.values_list("currency", "amount_minor"):
        sums[currency] = sums.get(currency, 0) + (minor or 0)
    return sums


def changes(zone: ZoneInfo) -> list[date]:
    """The days of the last year on which this zone's clocks change."""
    today = db_now().astimezone(zone).date()
    found = []
    for back in range(1, 366):
        day = today - timedelta(days=back)
        midnight, next_one = (
            datetime(d.year, d.month, d.day, tzinfo=zone) for d in (day, day + timedelta(days=1))
        )
        if midnight.utcoffset() != next_one.utcoffset():
            found.append(day)
    return found


def shown(reader: Client, first: str, last: str) -> dict[str, int]:
    """What the page says that was moved by currency, once every number on it has led to what it counts."""
    answer = reader.get(reverse("refunds"), {"from": first, "to": last})
    assert answer.status_code == 200 and answer.context["problems"] == ()
    for one in answer.context["currencies"]:
        leads(reader, one["href"], one["currency"], one["money"].applied)
        marks = [(href, row) for href, row in one["chart"].linked if href]
        assert sum(int(row[4]) for _, row in marks) == one["number"]
        for href, row in {marks[0], marks[-1]} if marks else ():
            leads(reader, href, one["currency"], row[1])
        for part in one["parts"]:
            leads(reader, part["rows"][0]["href"], one["currency"], part["rows"][0]["money"])
    found = {one["currency"]: one["money"].applied for one in answer.context["currencies"]}
    return {currency: minor for currency, minor in found.items() if minor}


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kolkata"])
def test_days_are_the_readers_ends_included_and_right_across_clock_changes(reader: Client, name: str) -> None:
    zone = ZoneInfo(name)
    assert reader.post(reverse("time-zone-choices"), {"zone": name}).status_code == 303
    day = next(iter(changes(zone)), db_now().astimezone(zone).date() - timedelta(days=100))
    # Two effects at the very edges of the day of the change, and one a microsecond after it.
    start, end = (datetime(d.year, d.month, d.day, tzinfo=zone) for d in (day, day + timedelta(days=1)))
    edges = (start, end.astimezone(ZoneInfo("UTC")) - timedelta(microseconds=1), end)
    rows = Effect.objects.filter(tool="refund", state="applied", currency="EUR", undo_of=None).order_by(
        "-pk"
    )[:3]
    for row, at in zip(rows, edges, strict=True):
        Effect.objects.filter(pk=row.pk).update(recorded_at=at)
    with connection.cursor() as cursor:
        cursor.execute(summary.SUM_UP, {"blocks": sorted({row.pk // summary.BLOCK for row in rows})})
    one_day = f"{day}"
    right = moved(zone, day, day)
    assert right.get("EUR", 0) >= sum(row.amount_minor or 0 for row in rows[:2]) > 0
    assert shown(reader, one_day, one_day) == right
    for before, after in ((0, 1), (3, 3), (45, 20), (200, 60)):
        first, last = day - timedelta(days=before), day + timedelta(days=after)
        assert shown(reader, f"{first}", f"{last}") == moved(zone, first, last), (first, last)


def test_without_an_end_it_goes_up_to_today_and_without_a_beginning_from_the_first_effect(
    reader: Client,
) -> None:
    today = timezone.localdate(db_now())
    oldest = timezone.localdate(Effect.objects.order_by("pk")[0].recorded_at)
    utc = ZoneInfo("UTC")
    assert shown(reader, f"{today - timedelta(days=40)}", "") == moved(utc, today - timedelta(days=40), today)
    assert shown(reader, "", f"{today - timedelta(days=40)}") == moved(
        utc, oldest, today - timedelta(days=40)
    )
    page = reader.get(reverse("refunds"), {"from": f"{today}", "tool": "refund"}).content.decode()
    assert f'name="from" value="{today}"' in page and 'href="?tool=refund&amp;period=30d"' in page


@pytest.mark.parametrize(
    ("first", "last", "sentence"),
    [
        (
            "2026-02-30",
            "",
            "From: must be a day like 2026-03-09, not 2026-02-30; give one, or leave it empty.",
        ),
        ("9.3.2026", "", "From: must be a day like 2026-03-09, not 9.3.2026; give one, or leave it empty."),
        ("", "2026-03-09T14:00", "To: must be a day like 2026-03-09, not 2026-03-09T14:00; give one"),
        (
            "2026-03-10",
            "2026-03-01",
            "From: 2026-03-10 is later than 2026-03-01; write the earlier day first.",
        ),
        (
            "2001-01-01",
            "2026-03-01",
            "To: must be at most 120 months after 2001-01-01; ask for fewer at once.",
        ),
    ],
)
def test_a_bad_day_is_told_by_field_and_rule_and_shows_no_number(
    reader: Client, first: str, last: str, sentence: str
) -> None:
    answer = reader.get(reverse("refunds"), {"from": first, "to": last})
    page = answer.content.decode()
    assert (answer.status_code, answer.context["currencies"]) == (422, [])
    assert sentence in page and 'aria-invalid="true"' in page and "Nothing moved" not in page


def test_marks_are_days_weeks_or_months_and_never_leave_the_days_that_were_asked_for() -> None:
    now, early = datetime(2026, 11, 30, 12, tzinfo=ZoneInfo("UTC")), date(2020, 1, 1)
    for first, last, number in (
        ("2026-03-28", "2026-03-30", 3), ("2026-01-01", "2026-04-02", 92), ("2026-01-01", "2026-04-03", 14),
        ("2025-11-15", "2026-11-27", 55), ("2024-02-29", "2026-03-01", 26), ("2016-03-01", "2026-02-28", 120),
    ):  # fmt: skip
        asked = periods.asked("", first, last, now, early)
        marks = asked.span.marks(now.date(), early)
        assert (len(marks), asked.problems) == (number, ()), first
        assert (f"{marks[0].first}", f"{marks[-1].last}") == (first, last)
        assert all(
            after.first - before.last == timedelta(days=1) for before, after in itertools.pairwise(marks)
        )
