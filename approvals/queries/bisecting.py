"""Up to which row a table had come at a moment: rows are numbered in the order in which they are made, near enough."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from durable.sql import answers

#: Rows may be committed a little out of the order of their ids; further apart than this they never are.
OUT_OF_ORDER = 1_000

#: The last row before a moment, as SQL, for a table, its column, and the SQL of the moment. It halves the ids: some
#: twenty steps through the primary key.
PLACE = """
WITH RECURSIVE halved(low, high) AS (
    SELECT 0::bigint, coalesce(max(id), 0) FROM {table}
    UNION ALL
    SELECT coalesce(older.id, h.low), CASE WHEN older.id IS NULL THEN h.middle ELSE h.high END
    FROM (SELECT low, high, (low + high) / 2 AS middle FROM halved WHERE low < high) h
    LEFT JOIN LATERAL (
        SELECT next.id FROM (
            SELECT r.id, r.{column} FROM {table} r WHERE r.id > h.middle ORDER BY r.id LIMIT 1
        ) next
        WHERE next.id <= h.high AND next.{column} < {moment}
    ) older ON true
)
SELECT max(low) AS id FROM halved
"""
_BEFORE = f"""
SELECT moment.at, place.id
FROM unnest(%(moments)s::timestamptz[]) AS moment (at) CROSS JOIN LATERAL ({PLACE}) place
"""


def last_before(table: str, column: str, moments: Sequence[datetime]) -> dict[datetime, int]:
    """The last row of `table` whose `column` is before each of the moments; no query for none."""
    if not moments:
        return {}
    return dict(
        answers(_BEFORE.format(table=table, column=column, moment="moment.at"), {"moments": list(moments)})
    )
