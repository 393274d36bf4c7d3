"""What `trends` has read, as three pictures with their tables: throughput, time to decision, money moved."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from approvals import days
from approvals.charts import Column, Piece, draw, even
from approvals.queries.trends import BADLY, CALLED_OFF, WELL, Period, Trends
from approvals.queries.words import money
from approvals.templatetags.interlock import span
from durable.errors import Invalid
from durable.money import exponent

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
#: Ends of a scale of durations, in seconds: each a round time with a round half.
_TIMES = (
    10, 30, _MINUTE, 2 * _MINUTE, 4 * _MINUTE, 10 * _MINUTE, 20 * _MINUTE, 40 * _MINUTE, _HOUR,
    2 * _HOUR, 4 * _HOUR, 8 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 4 * _DAY, 8 * _DAY, 16 * _DAY, 32 * _DAY,
)  # fmt: skip
#: Currencies with a picture of their own: each has its own scale, and more would be too many to read.
CURRENCIES = 3
#: Their looks, in this order.
_LOOKS = ("accent", "moving", "quiet")


def throughput(found: Trends) -> dict[str, Any]:
    """How many runs have ended, by how."""
    columns = []
    for moment, when in _buckets(found):
        ends = found.ended.get(moment, {})
        well, badly, off = (ends.get(how, 0) for how in (WELL, BADLY, CALLED_OFF))
        told = f"{when}: {well:,} completed, {badly:,} failed, {off:,} cancelled"
        pieces = (Piece(well, "done"), Piece(badly, "stopped"), Piece(off, "quiet"))
        columns.append(Column(told, pieces, (when, f"{well:,}", f"{badly:,}", f"{off:,}")))
    total, badly = found.ends(), found.ends(BADLY)
    return {
        "total": f"{total:,}",
        "total_href": _behind("ended", found.period),
        "failed": f"{badly:,}",
        "failed_href": _behind("failed", found.period),
        "chart": draw(
            "throughput",
            f"{total:,} runs ended in {found.period.words}, {badly:,} of them failed",
            columns,
            head=("From", "Completed", "Failed", "Cancelled"),
            foot=_foot(found),
            scale=on_scale,
            ceiling=even,
        ),
    }


def decisions(found: Trends) -> dict[str, Any]:
    """How long people took to decide: the median of each bucket, and how long nine of ten took at most."""
    columns = []
    for moment, when in _buckets(found):
        took = found.decided.get(moment)
        if took is None:
            columns.append(Column(f"{when}: no decision", (), (when, "0", "\N{EN DASH}", "\N{EN DASH}")))
            continue
        median, tenth = took.median.total_seconds(), took.tenth.total_seconds()
        told = f"{when}: median {span(median)}, 9 of 10 within {span(tenth)}, {took.number:,} decided"
        pieces = (Piece(median, "accent"), Piece(max(tenth - median, 0), "accent-light"))
        columns.append(Column(told, pieces, (when, f"{took.number:,}", span(median), span(tenth))))
    overall = found.overall
    number = overall.number if overall else 0
    return {
        "median": span(overall.median) if overall else "",
        "tenth": span(overall.tenth) if overall else "",
        "total": f"{number:,}",
        "total_href": _behind("decided", found.period),
        "chart": draw(
            "decisions",
            f"Time to decision in {found.period.words}: "
            + (f"median {span(overall.median)} of {number:,}" if overall else "nobody has decided"),
            columns,
            head=("From", "Decided", "Median", "9 of 10 within"),
            foot=_foot(found),
            scale=lambda seconds: span(seconds) if seconds else "0",
            ceiling=lambda most: next((end for end in _TIMES if end >= most), math.ceil(most)),
        ),
    }


def moved(found: Trends) -> list[dict[str, Any]]:
    """How much money has moved, for each of the currencies with the most acts, on a scale of its own."""
    first = sorted(found.moved, key=lambda currency: (-found.acts[currency], currency))[:CURRENCIES]
    return [_currency(found, currency, look) for currency, look in zip(first, _LOOKS, strict=False)]


def moved_besides(found: Trends) -> list[dict[str, Any]]:
    """How much has moved in the currencies that have no picture, by their codes."""
    return [
        _total(found, currency)
        for currency in sorted(found.moved, key=lambda currency: (-found.acts[currency], currency))[
            CURRENCIES:
        ]
    ]


def _total(found: Trends, currency: str) -> dict[str, Any]:
    acts = found.acts[currency]
    return {
        "total": money(sum(found.moved[currency].values()), currency),
        "acts": f"{acts:,} act{'' if acts == 1 else 's'}",
        "href": f"{_behind('moved', found.period)}&{urlencode({'currency': currency})}",
    }


def _currency(found: Trends, currency: str, look: str) -> dict[str, Any]:
    sums = found.moved[currency]
    columns = []
    for moment, when in _buckets(found):
        told = money(sums.get(moment, 0), currency)
        columns.append(Column(f"{when}: {told}", (Piece(sums.get(moment, 0), look),), (when, told)))
    shown, whole = _total(found, currency), unit(currency)
    return shown | {
        "look": look,
        "chart": draw(
            f"moved-{currency}",
            f"{shown['total']} moved in {found.period.words} by {shown['acts']}",
            columns,
            head=("From", currency),
            foot=_foot(found),
            scale=lambda minor: on_scale(minor / whole),
        ),
    }


def unit(currency: str) -> int:
    """How many minor units a whole one of the currency has; 1 for what is no currency."""
    try:
        return int(10 ** exponent(currency))
    except Invalid:  # a page shows what is stored, whatever it is
        return 1


def _buckets(found: Trends) -> list[tuple[datetime, str]]:
    return [(moment, _moment(moment, found.now)) for moment in found.period.moments(found.now)]


def _moment(moment: datetime, now: datetime) -> str:
    local, today = timezone.localtime(moment), timezone.localtime(now)
    return f"{local:%H:%M}" if local.date() == today.date() else f"{local:%a} {local:%H:%M}"


def _foot(found: Trends) -> tuple[str, str, str]:
    moments = list(found.period.moments(found.now))
    return _moment(moments[0], found.now), _moment(moments[len(moments) // 2], found.now), "now"


def _behind(name: str, period: Period) -> str:
    return f"{reverse('behind', args=[name])}?period={period.name}"


def on_scale(value: float) -> str:
    """A mark of a scale: 400, 1.5k, 2M, 5,000G."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:,.6g}{letter}" if value < 1e6 * unit else f"{value / unit:,.0f}{letter}"
    return f"{value:g}"


def soon(moment: datetime, now: datetime) -> str:
    """How far off, for a sentence."""
    return f"in {span(moment - now)}" if moment > now else "now"


def day_ends(now: datetime) -> datetime:
    """When the reader's day is over."""
    return days.begins(days.after(days.today(now)))
