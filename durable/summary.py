"""Effects summed up by all that there are few of: which groups there are, and how many of each were recorded when.

The sums are made block by block of effects' ids, each anew from its effects and events: so it does no harm to make one
again, and whatever happens to an effect later is counted once its block has been. What has changed since is found by
its events: readers count those blocks from the effects themselves, and so are never behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from durable.sql import Row, answer, answers, listed
from durable.states import EventKind

#: Ids of one block: what is counted anew when one effect changes.
BLOCK = 256
#: The events whose actor decided about an effect.
DECIDES = (EventKind.APPROVED, EventKind.REJECTED, EventKind.VERDICT)
#: What the effects of a group have in common, in the order in which `FACTS` and `counted` have it.
LIKENESS = ("tool", "vendor", "agent", "currency", "state", "undo", "undone", "reason", "deciders")
_LIKENESS = ", ".join(LIKENESS)

#: What is known of single effects, as `facts`: of those in `spans`, each with the number `which`.
FACTS = f"""
here AS (
    SELECT e.id, e.key, e.run_id, e.tool, e.vendor, e.currency, e.state, e.reason, e.amount_minor, e.recorded_at,
           e.undo_of_id IS NOT NULL AS undo, {{which}} AS which
    FROM {{spans}}
), said AS (
    SELECT v.effect_key, array_agg(DISTINCT v.actor ORDER BY v.actor) AS deciders
    FROM here JOIN durable_ledgerevent v ON v.effect_key = here.key
    WHERE v.effect_key <> '' AND v.kind IN ({listed(DECIDES)})
    GROUP BY 1
), facts AS (
    SELECT here.id, here.id / {BLOCK} AS block, date_trunc('hour', here.recorded_at, 'UTC') AS hour, here.which,
           here.tool, here.vendor, r.agent, here.currency, here.state, here.undo,
           EXISTS (SELECT FROM durable_effect u WHERE u.undo_of_id = here.id AND u.state = 'applied') AS undone,
           here.reason, coalesce(said.deciders, '{{{{}}}}') AS deciders, here.amount_minor AS minor
    FROM here JOIN durable_run r ON r.id = here.run_id LEFT JOIN said ON said.effect_key = here.key
)"""
_OF_BLOCKS = f"""
unnest(%(blocks)s::bigint[]) AS b (no)
    JOIN durable_effect e ON e.id >= b.no * {BLOCK} AND e.id < (b.no + 1) * {BLOCK}"""
_ALL = "durable_effect e"

# Groups that are new come with their sums; those that are there get what the blocks have more, or less, than before.
_SUM_UP = f"""
WITH {{facts}}, sums AS (
    SELECT block, hour, {_LIKENESS}, md5(ROW({_LIKENESS})::text) AS likeness, count(*) AS number,
           coalesce(sum(minor), 0) AS minor, min(id) AS first, max(id) AS last
    FROM facts GROUP BY block, hour, {_LIKENESS}
), made AS (
    INSERT INTO durable_effectgroup (likeness, {_LIKENESS}, number, minor)
    SELECT likeness, {_LIKENESS}, sum(number), sum(minor) FROM sums GROUP BY likeness, {_LIKENESS}
    ON CONFLICT (likeness) DO NOTHING
    RETURNING id, likeness
), known AS (
    SELECT id, likeness, false AS new FROM durable_effectgroup WHERE likeness IN (SELECT likeness FROM sums)
    UNION ALL SELECT id, likeness, true FROM made
), cells AS (
    SELECT s.block, k.id AS group_id, k.new, s.hour, s.number, s.minor, s.first, s.last
    FROM sums s JOIN known k USING (likeness)
), before AS (
    SELECT block, group_id, hour, number, minor FROM durable_effectcell WHERE {{of_blocks}}
), put AS (
    INSERT INTO durable_effectcell (block, group_id, hour, number, minor, first, last)
    SELECT block, group_id, hour, number, minor, first, last FROM cells
    ON CONFLICT (block, group_id, hour) DO UPDATE
    SET number = excluded.number, minor = excluded.minor, first = excluded.first, last = excluded.last
    WHERE (durable_effectcell.number, durable_effectcell.minor, durable_effectcell.first, durable_effectcell.last)
          <> (excluded.number, excluded.minor, excluded.first, excluded.last)
), gone AS (
    DELETE FROM durable_effectcell c USING before b
    WHERE (c.block, c.group_id, c.hour) = (b.block, b.group_id, b.hour)
      AND NOT EXISTS (SELECT FROM cells n WHERE (n.block, n.group_id, n.hour) = (b.block, b.group_id, b.hour))
), more AS (
    SELECT group_id, sum(number) AS number, sum(minor) AS minor
    FROM (SELECT group_id, number, minor FROM cells WHERE NOT new
          UNION ALL SELECT group_id, -number, -minor FROM before) both_of_them
    GROUP BY group_id HAVING sum(number) <> 0 OR sum(minor) <> 0
)
UPDATE durable_effectgroup g SET number = g.number + more.number, minor = g.minor + more.minor
FROM more WHERE g.id = more.group_id
"""
SUM_UP = _SUM_UP.format(
    facts=FACTS.format(which="0", spans=_OF_BLOCKS), of_blocks="block = ANY(%(blocks)s::bigint[])"
)
#: All effects there are, into empty tables.
SUM_UP_ALL = _SUM_UP.format(facts=FACTS.format(which="0", spans=_ALL), of_blocks="false")

_BLOCKS = f"""
SELECT DISTINCT id / {BLOCK}
FROM (
    SELECT unnest(ARRAY[e.id, e.undo_of_id]) AS id
    FROM (
        SELECT DISTINCT effect_key FROM durable_ledgerevent
        WHERE id > %(after)s AND id <= %(upto)s AND effect_key <> ''
    ) told JOIN durable_effect e ON e.key = told.effect_key
) touched
WHERE id IS NOT NULL ORDER BY 1
"""

_COUNTED = f"""
WITH {
    FACTS.format(
        which="width_bucket(e.recorded_at, %(bounds)s::timestamptz[]) - 1",
        spans='''
unnest(%(lows)s::bigint[], %(highs)s::bigint[], %(starts)s::timestamptz[], %(ends)s::timestamptz[])
        AS s (low, high, start, until)
    JOIN durable_effect e ON e.id BETWEEN s.low AND s.high AND e.recorded_at >= s.start AND e.recorded_at < s.until''',
    )
}
SELECT which, {_LIKENESS}, count(*), coalesce(sum(minor), 0) FROM facts GROUP BY which, {_LIKENESS}
"""

#: Ids from and to, and moments from and before: effects for which both hold.
Span = tuple[int, int, datetime, datetime]


def touched(after: int, upto: int) -> list[int]:
    """The blocks of which an effect's events have told since the event `after`, up to the event `upto`."""
    return [block for (block,) in answers(_BLOCKS, {"after": after, "upto": upto})]


def counted(spans: Sequence[Span], bounds: Sequence[datetime]) -> list[Row]:
    """Sum up effects themselves, whatever the cells say: the place between `bounds`, the likeness, number, minor units.

    No two spans may have an effect in common.
    """
    if not spans:
        return []
    columns = zip(("lows", "highs", "starts", "ends"), zip(*spans, strict=True), strict=True)
    values: dict[str, Any] = {name: list(column) for name, column in columns}
    return answers(_COUNTED, values | {"bounds": list(bounds)})


def position() -> tuple[int, int]:
    """The event up to which the sums tell all, and the newest event there is."""
    found = answer(
        "SELECT coalesce((SELECT done FROM durable_indexed), 0), "
        "coalesce((SELECT max(id) FROM durable_ledgerevent), 0)",
        {},
    )
    assert found is not None
    return found[0], found[1]
