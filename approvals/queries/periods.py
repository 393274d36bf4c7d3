"""Periods of a history, as people choose them, and the marks that they are shown in: days, weeks or months.

Days are the reader's; what is typed as a day includes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from approvals import days
from durable.text import cut

#: Months that are shown at most; and up to how many days, or weeks, there is a mark for each.
MONTHS, DAYS, WEEKS = 120, 92, 54
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)
_DAYS = re.compile(r"\d{4}-\d{2}-\d{2}|today|yesterday", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark of a chart: from a day to another, both included, how it is called, and how a search says it."""

    first: date
    last: date
    name: str
    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of days, up to today or between two of them, and its marks."""

    name: str
    words: str
    marks: Callable[[date, date], list[Mark]]  # of today, and of the day of the first effect


def _name(day: date) -> str:
    return f"{day.day} {day:%b %Y}"


def _day(day: date) -> Mark:
    return Mark(day, day, _name(day), day.isoformat(), day.isoformat())


def _week(monday: date) -> Mark:
    sunday = monday + 6 * _DAY
    return Mark(monday, sunday, f"week of {_name(monday)}", monday.isoformat(), sunday.isoformat())


def _month(first: date) -> Mark:
    said = f"{first:%Y-%m}"
    return Mark(first, days.months_on(first, 1) - _DAY, f"{first:%b %Y}", said, said)


def _weeks(today: date, _: date) -> list[Mark]:
    monday = today - today.weekday() * _DAY
    return [_week(monday - back * _WEEK) for back in reversed(range(53))]


def _months(today: date, first: date) -> list[Mark]:
    number = (today.year - first.year) * 12 + today.month - first.month + 1
    return [_month(days.months_on(today, -back)) for back in reversed(range(min(max(number, 1), MONTHS)))]


PERIODS = {
    one.name: one
    for one in (
        Period(
            "30d", "30 days", lambda today, _: [_day(today - back * _DAY) for back in reversed(range(30))]
        ),
        Period(
            "90d", "90 days", lambda today, _: [_day(today - back * _DAY) for back in reversed(range(90))]
        ),
        Period("1y", "a year", _weeks),
        Period("all", "all months", _months),
    )
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What an address asks for: a period, the days as they were typed, and what is wrong with them, in sentences."""

    span: Period
    first: str = ""
    last: str = ""
    problems: tuple[str, ...] = ()


def asked(name: str, first: str, last: str, now: datetime, beginning: date) -> Asked:
    """The period of an address: from one day to another, both included, or one of `PERIODS`; 30 days for nothing and
    for nonsense. Without `first` it begins with `beginning`, without `last` it ends today.
    """
    usual = PERIODS.get(name, PERIODS["30d"])
    if not first and not last:
        return Asked(usual)
    start, end = (_typed(text, now) for text in (first, last))
    problems = [
        f"{key}: must be a day like 2026-03-09, not {cut(text, 40)}; give one, or leave it empty."
        for key, text, found in (("From", first, start), ("To", last, end))
        if text and found is None
    ]
    if problems:
        return Asked(usual, first, last, tuple(problems))
    opens, ends = start or min(beginning, end or beginning), end or max(days.today(now), start or date.min)
    if opens > ends:
        problems.append(f"From: {opens} is later than {ends}; write the earlier day first.")
    elif days.months_on(opens, MONTHS) < ends:
        problems.append(f"To: must be at most {MONTHS} months after {opens}; ask for fewer at once.")
    span = usual if problems else _between(opens, ends)
    return Asked(span, first, last, tuple(problems))


def _typed(text: str, now: datetime) -> date | None:
    """The day of a form's field; a day only, however else a search may be typed."""
    found = days.read(text, now) if _DAYS.fullmatch(text) else None
    return None if found is None else days.today(found.start)


def _between(first: date, last: date) -> Period:
    """The days from one to another: a mark for each, or for each week or month of them."""
    length, ends = (last - first).days + 1, (_name(first), _name(last))
    said = f"the day {ends[0]}" if first == last else f"the days from {ends[0]} to {ends[1]}"
    marks = [_day(first + no * _DAY) for no in range(length)] if length <= DAYS else []
    if not marks and length <= WEEKS * 7:
        monday = first - first.weekday() * _DAY
        marks = [_week(monday + no * _WEEK) for no in range((last - monday).days // 7 + 1)]
    elif not marks:
        months = (last.year - first.year) * 12 + last.month - first.month + 1
        marks = [_month(days.months_on(first, no)) for no in range(months)]
    return Period("", said, lambda *_: [_within(mark, first, last) for mark in marks])


def _within(mark: Mark, first: date, last: date) -> Mark:
    """A mark without the days that are not asked for: it says so, and so does the search behind it."""
    if first <= mark.first and mark.last <= last:
        return mark
    start, end = max(mark.first, first), min(mark.last, last)
    name = f"{mark.name}, from {_name(start)} to {_name(end)}"
    return Mark(start, end, name, start.isoformat(), end.isoformat())
