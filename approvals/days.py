"""Days, months and years in the reader's zone, as the moments at which they begin: right across clock changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.utils import timezone

from durable.clock import db_now
from durable.text import quoted as told

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2}))?)?)?")
_YEARS = range(1990, 2200)
#: Words for a day, each with how many days it lies before the present one.
SAID = {"today": 0, "yesterday": 1}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time, from `start` up to and without `end` (UTC)."""

    start: datetime
    end: datetime


def begins(day: date) -> datetime:
    """The first moment of a day in the reader's zone. Where a clock change leaves midnight out, the one after it."""
    local = datetime.combine(day, time(), timezone.get_current_timezone())
    return local.astimezone(UTC)


def after(day: date) -> date:
    """The next day."""
    return day + timedelta(days=1)


def today(now: datetime) -> date:
    """The reader's day at a moment."""
    return timezone.localtime(now).date()


def months_on(day: date, number: int) -> date:
    """The first of a month so many months after (or before) the month of a day."""
    count = day.year * 12 + day.month - 1 + number
    return date(count // 12, count % 12 + 1, 1)


def named(text: str, now: datetime | None = None) -> date | None:
    """The day that `today` or `yesterday` is at a moment, by the database's clock where none is given; None for
    anything else.
    """
    said = SAID.get(text.strip().lower())
    return None if said is None else today(now or db_now()) - timedelta(days=said)


def meant_at(*texts: str) -> datetime | None:
    """The present moment by the database's clock where one of the texts says a day by a word; else None, unasked."""
    return db_now() if any(text.strip().lower() in SAID for text in texts) else None


def read(text: str, now: datetime | None = None) -> Stretch | None:
    """What `2026`, `2026-03`, `2026-03-09`, `2026-03-09T14:00`, `today` and `yesterday` mean; None for anything else.

    `now` is when a word for a day is meant; without it the database is asked for one. A minute that a clock change
    repeats is both of them.
    """
    day = named(text, now)
    if day is not None:
        return Stretch(begins(day), begins(after(day)))
    found = _DATE.fullmatch(text)
    if found is None or int(found[1]) not in _YEARS:
        return None
    year, month, dom, hour, minute = (int(part) if part else 0 for part in found.groups())
    try:
        if found[4]:
            return _minute(datetime(year, month, dom, hour, minute))
        if dom:
            day = date(year, month, dom)
            return Stretch(begins(day), begins(after(day)))
        first = date(year, month or 1, 1)
    except ValueError:
        return None
    return Stretch(begins(first), begins(months_on(first, 1 if month else 12)))


def wrong(first: str, last: str, now: datetime | None = None) -> list[str]:
    """What is wrong with a time from one of these to another, both included, in sentences; empty texts are no bound."""
    start, end = (read(text, now) if text else None for text in (first, last))
    problems = [
        f"{key}: must be like 2026, 2026-03, 2026-03-09 or today, not {told(text)}."
        for key, text, found in (("from", first, start), ("to", last, end))
        if text and found is None
    ]
    if start is not None and end is not None and start.start >= end.end:
        problems.append(f"from: {first} is later than {last}; nothing can be in between.")
    return problems


def _minute(naive: datetime) -> Stretch:
    zone = timezone.get_current_timezone()
    first, second = (naive.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    return Stretch(min(first, second), max(first, second) + timedelta(minutes=1))
