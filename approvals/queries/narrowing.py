"""Where the next page of a search stands: between which ids there are effects of its groups, the nearest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from approvals.queries import pages
from approvals.queries.searching import Search
from approvals.queries.tallies import cut_hours
from durable.sql import answers
from durable.summary import BLOCK

#: Cells of one group that are looked at: each has an effect for the page, but for those in which its edge lies.
_CELLS = pages.PAGE + 4

# `near`: the hour of the effect at which the page begins, as far as ids and hours agree. What a bound cuts, and what
# was changed since it was summed up, may hold an effect for the page or none: it comes along, and is not counted on.
_NEAREST = """
WITH near AS (
    SELECT coalesce((SELECT date_trunc('hour', recorded_at, 'UTC') FROM durable_effect
                     WHERE id {at} %(cursor)s ORDER BY id {way} LIMIT 1), {none}) AS hour
)
SELECT c.first, c.last, c.number
FROM unnest(%(groups)s::bigint[]) AS g (id) CROSS JOIN near CROSS JOIN LATERAL (
    SELECT first, last, number FROM durable_effectcell
    WHERE group_id = g.id AND hour >= %(start)s AND hour < %(end)s AND hour {at} near.hour {slack} interval '1 hour'
      AND NOT hour = ANY(%(cut)s::timestamptz[]) AND NOT block = ANY(%(blocks)s::bigint[]) AND {edge}
    ORDER BY hour {way}, block {way} LIMIT %(most)s
) c
UNION ALL
SELECT min(first), max(last), 0 FROM durable_effectcell
WHERE group_id = ANY(%(groups)s::bigint[]) AND hour = ANY(%(cut)s::timestamptz[]) GROUP BY hour, block
"""
_OLDER = _NEAREST.format(
    at="<=", way="DESC", none="'infinity'::timestamptz", slack="+", edge="first < %(cursor)s"
)
_NEWER = _NEAREST.format(
    at=">=", way="ASC", none="'-infinity'::timestamptz", slack="-", edge="last > %(cursor)s"
)
_LAST = 2**62


@dataclass(frozen=True, slots=True)
class _Cell:
    """Ids from and to, and how many effects for the page stand there at least."""

    first: int
    last: int
    number: int


def near(search: Search, *, after: int | None, before: int | None) -> Q:
    """The ids of a page, and few others. `search` is one that the summary knows."""
    assert search.standing.blocks is not None
    newer = before is not None
    cursor = before if before is not None else _LAST if after is None else after
    ids = [group.id for group in search.groups if group.number and search.wanted.fits(group.like)]
    blocks = list(search.standing.blocks)
    values = {
        "groups": ids,
        "cursor": cursor,
        "cut": cut_hours(search.bounds),
        "blocks": blocks,
        "most": _CELLS,
    }
    values |= {"start": search.bounds[0], "end": search.bounds[1]}
    rows = answers(_NEWER if newer else _OLDER, values) if ids else []
    cells = [
        # Of a cell in which the page's edge lies, some may stand on the other page.
        _Cell(first, last, 0 if first <= cursor <= last else number)
        for first, last, number in rows
    ]
    cells += [_Cell(no * BLOCK, (no + 1) * BLOCK - 1, 0) for no in blocks]
    return _between(_enough(cells, newer=newer), cursor, newer=newer)


def _enough(cells: Sequence[_Cell], *, newer: bool) -> list[tuple[int, int]]:
    """The ids of the nearest cells that fill a page and one more, and of whatever else stands among them."""
    have, edge = 0, None
    for cell in sorted(cells, key=lambda cell: cell.first if newer else -cell.last):
        have += cell.number
        side = cell.last if newer else cell.first
        edge = side if edge is None else max(edge, side) if newer else min(edge, side)
        if have > pages.PAGE:
            break
    else:
        edge = None
    if edge is None:
        return [(cell.first, cell.last) for cell in cells]
    if newer:
        return [(cell.first, min(cell.last, edge)) for cell in cells if cell.first <= edge]
    return [(max(cell.first, edge), cell.last) for cell in cells if cell.last >= edge]


def _between(spans: Sequence[tuple[int, int]], cursor: int, *, newer: bool) -> Q:
    """Ids in one of the spans, those that touch put together."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    found = Q()
    for low, high in merged:
        if (high > cursor) if newer else (low < cursor):
            found |= Q(pk__range=(low, high))
    return found or Q(pk__in=[])
