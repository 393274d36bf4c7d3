"""What one step and one effect send to the server and make it write. The server counts, whatever the column's library.

A short run is taken from a long one, so that start and end of a run are in neither.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from psycopg import sql

from tests.bench import kit

FEW, MANY = (5, 15) if kit.QUICK else (20, 220)
#: The kinds of work, each in its own measure of the unit.
KINDS = ("step", "effect")
_PATIENCE = 30.0
_SAID = re.compile(rb"LOG:  (?:statement|execute [^:]+): ")
_OTHERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
#: In the order of `COUNTED`, the statements but for which the server's log tells.
_COUNTERS = """
SELECT txid_snapshot_xmax(txid_current_snapshot()),
       (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'),
       pg_current_wal_insert_lsn() - '0/0'::pg_lsn,
       (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'm') AND n.nspname !~ '^pg_|^information_schema$')
"""
COUNTED = ("statements", "transaction ids", "flushes", "bytes of WAL", "bytes stored")


def costs(kind: str, act: Callable[[int], object]) -> kit.Figures:
    """Return what one step or effect costs. `act` makes that many of them and closes its connections.

    Statements are what clients sent, BEGIN and COMMIT included. Transactions and savepoints that wrote have ids.
    """
    connection = kit.connect()
    _say_all(connection, True)
    act(FEW)
    first = _read(connection)
    act(FEW)
    second = _read(connection)
    act(MANY)
    third = _read(connection)
    _say_all(connection, False)
    each = [((c - b) - (b - a)) / (MANY - FEW) for a, b, c in zip(first, second, third, strict=True)]
    return {f"{kind}: {name}": value for name, value in zip(COUNTED, each, strict=True)}


def _say_all(connection: kit.Connection, on: bool) -> None:
    """Let the server log every statement of connections that are opened from now on, or no longer."""
    database = sql.Identifier(connection.info.dbname)
    words = "ALTER DATABASE {} SET log_statement = 'all'" if on else "ALTER DATABASE {} RESET log_statement"
    connection.execute(sql.SQL(words).format(database))


def _read(connection: kit.Connection) -> list[int]:
    """Counts arrive when a connection ends: all others must have."""
    end = time.monotonic() + _PATIENCE
    while kit.one(connection, _OTHERS):
        if time.monotonic() > end:
            raise SystemExit("a connection was left open: what it did is not counted")
        time.sleep(0.05)
    row = connection.execute(_COUNTERS.encode()).fetchone()
    assert row is not None
    said = len(_SAID.findall(Path(os.environ["BENCH_LOG"]).read_bytes()))
    return [said, *map(int, row)]
