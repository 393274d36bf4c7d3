"""The one form in which a moment is written: `16:02 UTC` today, else `24 Nov, 16:02 UTC`, with the year of another."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone


def absolute(at: datetime, now: datetime | None = None, *, clock: str = "%H:%M", zone: bool = True) -> str:
    """Return a moment in the console's zone, with as much of its day as `now` (or this machine's clock) leaves open."""
    local, today = timezone.localtime(at), timezone.localtime(now or timezone.now())
    year = "" if local.year == today.year else f" {local.year}"
    day = "" if local.date() == today.date() else f"{local.day} {local:%b}{year}, "
    return f"{day}{local.strftime(clock)}{f' {local.tzname()}' if zone else ''}"


def exact(at: datetime) -> str:
    """Return a moment whole and to the second, for sentences that outlive their day."""
    return absolute(at, clock="%H:%M:%S")


def whole(at: datetime) -> str:
    """Return a moment with its day and year, to the second, for what is kept: `24 Nov 2026, 16:02:07 UTC`."""
    local = timezone.localtime(at)
    return f"{local.day} {local:%b %Y, %H:%M:%S} {local.tzname()}"


def whole_minute(at: datetime) -> str:
    """Return a moment with its day, and the year of another year, to the minute, for pictures: `24 Nov, 16:02`."""
    local = timezone.localtime(at)
    year = "" if local.year == timezone.localtime().year else f" {local.year}"
    return f"{local.day} {local:%b}{year}, {local:%H:%M}"


def day(at: datetime) -> str:
    """Return the day of a moment in the console's zone: `24 Nov 2026`."""
    local = timezone.localtime(at)
    return f"{local.day} {local:%b %Y}"
