"""What the server has written between two moments, by its own counters."""

from __future__ import annotations

from tests.bench import kit

_STORED = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname !~ '^pg_|^information_schema$'
"""


class Meter:
    """Counts from its making on."""

    def __init__(self) -> None:
        self._connection = kit.connect()
        # What is known to be empty is given back first, so that growth is growth.
        self._connection.execute("VACUUM")
        self._stored, self._wal = self._read()

    def stored(self) -> int:
        """Bytes by which tables have grown since, their indexes and what is stored out of line included."""
        return self._read()[0] - self._stored

    def wal(self) -> int:
        """Bytes of write-ahead log since."""
        return self._read()[1] - self._wal

    def _read(self) -> tuple[int, int]:
        return (
            int(kit.one(self._connection, _STORED)),
            int(kit.one(self._connection, "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint")),
        )
