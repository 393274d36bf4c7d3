"""How much room each kind takes: the server's own figures, and one record of them a day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from durable.beats import stating
from durable.sql import answers, count

#: The tables of each kind that a policy speaks of. What no kind names is `everything else`.
TABLES: dict[str, tuple[str, ...]] = {
    "ledger": (
        "durable_ledgerevent", "durable_eventdetail", "durable_actwords", "durable_actkey", "durable_chain",
        "durable_effect", "durable_subject", "durable_root", "durable_cut",
    ),
    "payloads": ("durable_sealed", "durable_sealkey"),
    "checkpoints": ("durable_checkpoint",),
    "messages": ("durable_message", "durable_branch"),
    "frozen": ("durable_frozen",),
    "runs": (
        "durable_run", "durable_budget", "durable_purse", "durable_attempt", "durable_wait", "durable_signal",
    ),
    "search": ("durable_effectcell", "durable_effectgroup", "durable_subjectname"),
}  # fmt: skip
REST = "everything else"

_SIZES = """
SELECT coalesce(k.kind, %(rest)s), sum(pg_total_relation_size(c.oid))::bigint,
       sum(greatest(c.reltuples, 0))::bigint
FROM pg_class c
LEFT JOIN unnest(%(tables)s::text[], %(kinds)s::text[]) AS k (name, kind) ON k.name = c.relname
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
GROUP BY 1
"""
_RECORD = """
INSERT INTO durable_stored (day, kind, bytes, rows)
SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date, s.kind, s.bytes, s.rows
FROM unnest(%(kinds)s::text[], %(bytes)s::bigint[], %(rows)s::bigint[]) AS s (kind, bytes, rows)
ON CONFLICT (day, kind) DO NOTHING
"""
_DAYS = """
SELECT day, kind, bytes FROM durable_stored
WHERE day IN (SELECT DISTINCT day FROM durable_stored ORDER BY day DESC LIMIT %(days)s) ORDER BY day
"""


@dataclass(frozen=True, slots=True)
class Size:
    """What one kind takes: bytes with its indexes; rows as the server last estimated them."""

    kind: str
    bytes: int
    rows: int

    @property
    def each(self) -> int:
        """Bytes that one row takes on the average, indexes included; 0 where there are none."""
        return self.bytes // self.rows if self.rows else 0


def now() -> dict[str, Size]:
    """How much each kind takes at this moment, from the catalogue: no table is read."""
    pairs = [(table, kind) for kind, tables in TABLES.items() for table in tables]
    values = {"rest": REST, "tables": [pair[0] for pair in pairs], "kinds": [pair[1] for pair in pairs]}
    found = {kind: Size(kind, size, rows) for kind, size, rows in answers(_SIZES, values)}
    return {kind: found.get(kind, Size(kind, 0, 0)) for kind in (*TABLES, REST)}


def record() -> None:
    """Note today's figures, once a day (of UTC)."""
    sizes = list(now().values())
    values = {
        "kinds": [size.kind for size in sizes],
        "bytes": [size.bytes for size in sizes],
        "rows": [size.rows for size in sizes],
    }
    with stating("prune"):
        count(_RECORD, values)


def by_day(days: int) -> dict[date, dict[str, int]]:
    """Bytes by kind of the last `days` recorded days, the oldest first."""
    found: dict[date, dict[str, int]] = {}
    for day, kind, size in answers(_DAYS, {"days": days}):
        found.setdefault(day, {})[kind] = size
    return found
