"""`python -m proof.cost [--json]`: what a step and an effect cost in a real Celery worker, as PostgreSQL counts.

A run of 210 steps is driven by a worker in each durability mode that differs, on a server that waits for its disk.
Statements and commits are read from the server's log (BEGIN and COMMIT are statements: each is a round trip), bytes of
WAL and flushes from its counters for the worker's own connection. The heartbeat's connection is not counted: it sends
three statements a lease, however much is done. Needs PostgreSQL 18 for those counters.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg

from local.keys import APPLICATION, SUPERUSER
from local.throwaway import ThrowAway
from proof import worker
from proof.stage import Stage, stage

MODES = ("async", "sync")
_PATIENCE = 180.0
_ENTRY = re.compile(r"^\S+ \S+ UTC \[(\d+)\] LOG:  (?:statement|execute [^:]+): (.*)$")
_READING = re.compile(r"SELECT /\* reading (?:of step (\d+) of (\S+) )?\*/")
_WRITES = re.compile(r"(?:INSERT|UPDATE|DELETE)\b|WITH\b.*\b(?:INSERT INTO|UPDATE|DELETE FROM)\b", re.S)


@dataclass(frozen=True)
class Figures:
    """What one step of a lap cost, on average."""

    mode: str
    lap: str
    statements: float
    commits: float
    flushes: float
    wal: float
    #: Objects that a full pass of the garbage collector goes through, at the end of the lap.
    watched: int


def measure() -> list[Figures]:
    """Start services, a vendor and a worker, drive a run in each mode, and return the figures of each lap."""
    services = ThrowAway.migrated(fsync=True)
    try:
        os.environ.update(services.settings(), DJANGO_SETTINGS_MODULE="durable.settings", LOG_LEVEL="WARNING")
        with psycopg.connect(services.postgres.url(SUPERUSER), autocommit=True) as admin:
            admin.execute(f"ALTER ROLE {APPLICATION} SET log_statement = 'all'".encode())
        with stage(INTERLOCK_AGENTS="proof.cost_agent") as on:
            return _drive(on, services.postgres.home / "log")
    finally:
        services.stop()


def _drive(on: Stage, log: Path) -> list[Figures]:
    vendor = on.start_vendor()
    os.environ.update(on.settings)
    import django

    django.setup()
    from durable import runs
    from durable.models import Run
    from durable.states import Durability, RunState

    found: list[Figures] = []
    on.start(worker.command("runs", "measured"))
    for mode in MODES:
        paid = {"order": mode, "charge": vendor.charge("100.00", "EUR")}
        run = runs.start("Laps", paid, actor="proof", durability=Durability(mode))
        end = time.monotonic() + _PATIENCE
        while Run.objects.get(pk=run.pk).state != RunState.COMPLETED:
            if time.monotonic() > end:
                raise RuntimeError(f"the run did not complete in {_PATIENCE:g} seconds\n{on.said()}")
            time.sleep(0.1)
        run.refresh_from_db()
        found += figures(mode, run.result or {}, statements(log.read_text(errors="replace"), run.ref))
    return found


def statements(log: str, run_ref: str) -> dict[int, list[str]]:
    """Return, by the number of each step that was read, the statements of its connection from there to the next one."""
    backends: dict[str, list[str]] = {}
    last: list[str] = []
    for line in log.splitlines():
        entry = _ENTRY.match(line)
        if entry:
            last = backends.setdefault(entry[1], [])
            last.append(entry[2])
        elif last and line.startswith("\t"):
            last[-1] = f"{last[-1]} {line}".strip()
    found: dict[int, list[str]] = {}
    for words in backends.values():
        here: list[str] | None = None
        for statement in words:
            reading = _READING.match(statement)
            if reading and reading[1]:
                here = found.setdefault(int(reading[1]), []) if reading[2] == run_ref else None
            elif here is not None and not reading:
                here.append(statement)
    return found


def commits(words: Sequence[str]) -> int:
    """Count the commits among a connection's statements: of transactions, and of single statements that wrote."""
    inside, count = False, 0
    for statement in words:
        if statement.startswith("BEGIN"):
            inside = True
        elif statement in ("COMMIT", "ROLLBACK"):
            inside, count = False, count + (statement == "COMMIT")
        elif not inside:
            count += bool(_WRITES.match(statement))
    return count


def figures(mode: str, readings: dict[str, list[int]], words: dict[int, list[str]]) -> list[Figures]:
    """Return what one step of each lap cost on average."""
    from proof.cost_agent import LAPS, LENGTH

    found: list[Figures] = []
    for lap, begin in LAPS.items():
        before, after = readings[str(begin)], readings[str(begin + LENGTH)]
        said = words[begin]
        wal, flushes = ((now - then) / LENGTH for now, then in zip(after[:2], before[:2], strict=True))
        found.append(Figures(mode, lap, len(said) / LENGTH, commits(said) / LENGTH, flushes, wal, after[2]))
    return found


def table(found: Sequence[Figures]) -> str:
    """Return the figures as people read them."""
    row = "{:6} {:32} {:>10} {:>8} {:>8} {:>13} {:>8}"
    lines = [row.format("mode", "one step", "statements", "commits", "flushes", "bytes of WAL", "watched")]
    for one in found:
        counts = (f"{count:.1f}" for count in (one.statements, one.commits, one.flushes))
        lines.append(row.format(one.mode, one.lap, *counts, f"{one.wal:,.0f}", f"{one.watched:,}"))
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Measure, and print the figures: as a table, or as JSON for another program."""
    parser = argparse.ArgumentParser(prog="proof.cost")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    found = measure()
    print(json.dumps([asdict(one) for one in found]) if options.json else table(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
