"""What one step and one effect send to the server and make it write, and how long processors are busy with them.

The server counts, whatever the column's library. A short run is taken from a long one, so that start and end of a run
are in neither. Processor time, unlike time, hardly knows what else the machine does.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from psycopg import sql

from tests.bench import kit

FEW, MANY = (5, 15) if kit.QUICK else (20, 220)
#: The kernel counts a server's processor time in hundredths of a second.
LONG = 25 if kit.QUICK else 1_020
#: The kinds of work, each in its own measure of the unit.
KINDS = ("step", "effect")
_PATIENCE = 30.0
_SAID = re.compile(rb"LOG:  (?:statement|execute [^:]+): ")
#: In the order of `COUNTED`, the statements but for which the server's log tells.
_COUNTERS = """
SELECT txid_snapshot_xmax(txid_current_snapshot()),
       (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'),
       pg_current_wal_insert_lsn() - '0/0'::pg_lsn,
       (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'm') AND n.nspname !~ '^pg_|^information_schema$')
"""
COUNTED = ("statements", "transaction ids", "flushes", "bytes of WAL", "bytes stored")
BUSY = ("client busy", "server busy")


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
    each += _busy(connection, act)
    return {f"{kind}: {name}": value for name, value in zip((*COUNTED, *BUSY), each, strict=True)}


def _busy(connection: kit.Connection, act: Callable[[int], object]) -> list[float]:
    """Milliseconds of processor time, of this process and of the connections that the server has served for it."""
    server = psutil.Process(int(os.environ["BENCH_SERVER"]))

    def read() -> tuple[float, float]:
        _all_gone(connection)
        ended = server.cpu_times()
        return time.process_time(), ended.children_user + ended.children_system

    first = read()
    act(FEW)
    second = read()
    act(LONG)
    third = read()
    return [((c - b) - (b - a)) / (LONG - FEW) * 1e3 for a, b, c in zip(first, second, third, strict=True)]


def _say_all(connection: kit.Connection, on: bool) -> None:
    """Let the server log every statement of connections that are opened from now on, or no longer."""
    database = sql.Identifier(connection.info.dbname)
    words = "ALTER DATABASE {} SET log_statement = 'all'" if on else "ALTER DATABASE {} RESET log_statement"
    connection.execute(sql.SQL(words).format(database))


def _read(connection: kit.Connection) -> list[float]:
    _all_gone(connection)
    row = connection.execute(_COUNTERS.encode()).fetchone()
    assert row is not None
    said = len(_SAID.findall(Path(os.environ["BENCH_LOG"]).read_bytes()))
    return [said, *map(int, row)]


def _all_gone(connection: kit.Connection) -> None:
    """Counts arrive when a connection ends, processor time when its process is gone: all others must be."""
    server, own = psutil.Process(int(os.environ["BENCH_SERVER"])), connection.info.backend_pid
    end = time.monotonic() + _PATIENCE
    while any(_serves(child, connection.info.dbname) for child in server.children() if child.pid != own):
        if time.monotonic() > end:
            raise SystemExit("a connection was left open: what it did is not counted")
        time.sleep(0.05)


def _serves(process: psutil.Process, database: str) -> bool:
    """Whether a process of the server serves a connection to that database, or has ended and is not yet put away."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE or f" {database} " in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False
