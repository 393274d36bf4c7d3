"""How many effects, and how much money, between which moments: from the summary, and exact up to this moment.

Where events have told of an effect since its block was summed up, the block is counted from the effects themselves; so
is an hour that a bound cuts, as midnight does in zones that are half an hour apart from others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from approvals.queries.groups import Group, Likeness
from durable import summary
from durable.sql import answers

#: Events that the summary may be behind before it is of no use: an indexer that has just begun, or has stopped.
BEHIND = 20_000
ALWAYS, NEVER_OVER = datetime(1990, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_HOUR = timedelta(hours=1)

_CELLS = """
SELECT width_bucket(hour, %(bounds)s::timestamptz[]) - 1, group_id, sum(number), sum(minor)
FROM durable_effectcell
WHERE group_id = ANY(%(groups)s::bigint[]) AND hour >= %(start)s AND hour < %(end)s
  AND NOT block = ANY(%(blocks)s::bigint[]) AND NOT hour = ANY(%(cut)s::timestamptz[])
GROUP BY 1, 2
"""
# In one statement: the indexer may bring groups and cells up to date between two.
_WHOLE = """
SELECT g.id, g.number - coalesce(stale.number, 0), g.minor - coalesce(stale.minor, 0)
FROM durable_effectgroup g LEFT JOIN (
    SELECT group_id, sum(number) AS number, sum(minor) AS minor FROM durable_effectcell
    WHERE block = ANY(%(blocks)s::bigint[]) AND group_id = ANY(%(groups)s::bigint[]) GROUP BY 1
) stale ON stale.group_id = g.id
WHERE g.id = ANY(%(groups)s::bigint[])
"""
_CUT = """
SELECT hour, min(first), max(last) FROM durable_effectcell
WHERE group_id = ANY(%(groups)s::bigint[]) AND hour = ANY(%(cut)s::timestamptz[])
  AND NOT block = ANY(%(blocks)s::bigint[])
GROUP BY hour, block
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the summary is: the newest event, and the blocks of which events have told since; None if too many."""

    newest: int
    blocks: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Tally:
    """So many effects alike, so much in minor units; `place` is between which two bounds they were recorded."""

    place: int
    like: Likeness
    number: int
    minor: int


def standing(position: tuple[int, int] | None = None) -> Standing:
    """Look how far the summary is; `position` where that is known."""
    done, newest = position or summary.position()
    if newest - done > BEHIND:
        return Standing(newest, None)
    return Standing(newest, tuple(summary.touched(done, newest)) if newest > done else ())


def tally(groups: Sequence[Group], blocks: Iterable[int], bounds: Sequence[datetime]) -> list[Tally]:
    """Count the effects of these groups between each two bounds; `blocks` are those of `Standing`.

    Effects in those blocks are counted whatever their group: who asks leaves out what is not meant.
    """
    stale = list(blocks)
    found = _whole(groups, stale) if _is_all(bounds) else _between(groups, stale, bounds)
    spans = [(no * summary.BLOCK, (no + 1) * summary.BLOCK - 1, bounds[0], bounds[-1]) for no in stale]
    spans += _cut(groups, stale, bounds)
    raw = summary.counted(spans, bounds)
    return found + [Tally(row[0], Likeness.of(row[1:-2]), row[-2], int(row[-1])) for row in raw]


def _is_all(bounds: Sequence[datetime]) -> bool:
    return list(bounds) == [ALWAYS, NEVER_OVER]


def _whole(groups: Sequence[Group], stale: list[int]) -> list[Tally]:
    """From the groups' own sums as they are now, without what stands in blocks that are counted anew."""
    likes = {group.id: group.like for group in groups}
    rows = answers(_WHOLE, {"blocks": stale, "groups": list(likes)})
    return [Tally(0, likes[id], number, int(minor)) for id, number, minor in rows]


def _between(groups: Sequence[Group], stale: list[int], bounds: Sequence[datetime]) -> list[Tally]:
    likes = {group.id: group.like for group in groups}
    values = {"groups": list(likes), "blocks": stale, "cut": cut_hours(bounds), "bounds": list(bounds)}
    values |= {"start": bounds[0], "end": bounds[-1]}
    return [
        Tally(place, likes[id], number, int(minor)) for place, id, number, minor in answers(_CELLS, values)
    ]


def _cut(groups: Sequence[Group], stale: list[int], bounds: Sequence[datetime]) -> list[summary.Span]:
    """Where the effects of hours are that a bound cuts."""
    hours = cut_hours(bounds)
    if not hours:
        return []
    values = {"groups": [group.id for group in groups], "blocks": stale, "cut": hours}
    first, end = bounds[0], bounds[-1]
    return [
        (low, high, max(hour, first), min(hour + _HOUR, end)) for hour, low, high in answers(_CUT, values)
    ]


def cut_hours(bounds: Collection[datetime]) -> list[datetime]:
    """The hours that a bound falls into the middle of."""
    begun = {bound: bound.replace(minute=0, second=0, microsecond=0) for bound in bounds}
    return sorted({hour for bound, hour in begun.items() if hour != bound})
