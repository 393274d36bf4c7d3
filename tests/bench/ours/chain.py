"""Writers that append events side by side, with the chain and without it; and a long chain, rooted and verified."""

from __future__ import annotations

import hashlib
import os
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, connections, transaction

from durable import journal
from durable.models import LedgerEvent, Run
from durable.roots import builder, reading, signing, verify
from durable.states import EventKind
from durable.transitions import lock_run
from local.demodata.bare import uncovered
from tests import factories
from tests.bench import chaining, kit

#: The trigger without the chain: number, time and id are the database's own all the same.
_UNCHAINED = """
CREATE SEQUENCE bench_no START 1000000;  -- far from the numbers of the chains
CREATE FUNCTION bench_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public AS $$
BEGIN
    NEW.id := nextval('durable_ledgerevent_id_seq');
    NEW.no := nextval('bench_no');
    NEW.at := clock_timestamp();
    NEW.hash := ''::bytea;
    RETURN NEW;
END $$;
CREATE TRIGGER bench_event BEFORE INSERT ON durable_ledgerevent FOR EACH ROW EXECUTE FUNCTION bench_event();
"""
_INSERT = "INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body) VALUES (%s, 'held', '', 'x', '{}')"

#: All writers wait for this lock until each of them is ready.
_LINE = 77
_WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def measure() -> kit.Figures:
    """Events a second of all writers, with and without the chain in turn; then the long chain."""
    refs = [factories.running(ref=f"run-{number}").run_ref for number in range(chaining.WRITERS)]
    found: kit.Figures = {}
    with kit.connect() as admin:
        admin.execute(_UNCHAINED.encode())
        for way in chaining.WAYS:
            for chained in (False, True):
                on, off = ("chain_event", "bench_event") if chained else ("bench_event", "chain_event")
                admin.execute(f"ALTER TABLE durable_ledgerevent ENABLE ALWAYS TRIGGER {on}".encode())
                admin.execute(f"ALTER TABLE durable_ledgerevent DISABLE TRIGGER {off}".encode())
                found[f"{way}, {'chained' if chained else 'no chain'}"] = _side_by_side(way, refs)
            found[f"{way}, no chain / chained"] = found[f"{way}, no chain"] / found[f"{way}, chained"]
    return found | (kit.phase("ours.chain", "long") or {})


def _side_by_side(way: str, refs: list[str]) -> float:
    """Let a process for each run append, all from one moment on; return how many events a second came of it."""
    before = LedgerEvent.objects.count()
    with kit.connect() as line, ThreadPoolExecutor(len(refs)) as pool:
        line.execute("SELECT pg_advisory_lock(%s)", [_LINE])
        writing = [pool.submit(kit.phase, "ours.chain", "write", way, ref) for ref in refs]
        try:
            while kit.one(line, _WAITING) < len(refs) and not any(one.done() for one in writing):
                kit.time.sleep(0.05)
        finally:
            begin = kit.now()
            line.execute("SELECT pg_advisory_unlock(%s)", [_LINE])
        ended = [one.result() for one in writing]
    kit.done(LedgerEvent.objects.count() - before, len(refs) * chaining.EACH, "events")
    return kit.rate(len(refs) * (chaining.EACH - 1), max(one["ended"] for one in ended if one) - begin)


def write(way: str, ref: str) -> kit.Figures:
    """Append to one run, from the moment on at which all are ready; the first event makes ready."""
    append = _by_statement(ref) if way == "statement" else _by_engine(ref)
    append()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock_shared(%s)", [_LINE])
    for _ in range(chaining.EACH - 1):
        append()
    return {"ended": kit.now()}


def _by_engine(ref: str) -> Callable[[], None]:
    run = Run.objects.get(ref=ref)

    def append() -> None:
        with transaction.atomic():
            journal.record(lock_run(run.ref), EventKind.HELD, actor="bench", body={"number": 1})

    return append


def _by_statement(ref: str) -> Callable[[], None]:
    wire = kit.psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
    return lambda: void(wire.execute(_INSERT, [ref]))


def void(_: object) -> None:
    """What a statement returns is of no use to anybody."""


def long() -> kit.Figures:
    """Seconds in which a chain of many events gets its roots, and is verified, and the memory that it took (MiB)."""
    _fill()
    with kit.connect() as admin:
        admin.execute("VACUUM ANALYZE durable_ledgerevent")
    rooting = kit.timed(builder.build)
    report = verify.Report()

    def all_of_it() -> None:
        with reading.snapshot() as wire:
            found = list(verify.findings(wire, report, trusted=signing.trusted(), payloads=False))
        kit.done(len(found), 0, "findings")

    verifying = kit.timed(all_of_it)
    kit.done(report.walked.events, chaining.LENGTH, "events gone through")
    kit.done(report.covered.events, chaining.LENGTH, "events under roots")
    return {
        "roots": rooting,
        "verify": verifying,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _fill() -> None:
    """Put one chain in the place of all events, as the trigger would have made it."""
    tables = ["durable_ledgerevent", "durable_chain", "durable_eventdetail"]
    with (
        transaction.atomic(using="owner"),
        connections["owner"].cursor() as cursor,
        uncovered(cursor, tables),
    ):
        cursor.execute(f"TRUNCATE {', '.join(tables)}")
        head: Any = b""
        columns = "id, run_ref, no, kind, effect_key, actor, body, at, hash"
        with cursor.copy(f"COPY durable_ledgerevent ({columns}) FROM STDIN") as copy:
            for row in _events():
                copy.write_row(row)
                head = row[-1]
        cursor.execute("INSERT INTO durable_chain VALUES ('run-0', %s, %s)", [chaining.LENGTH, head])
        cursor.execute("SELECT setval('durable_ledgerevent_id_seq', %s)", [chaining.LENGTH])
    connections["owner"].close()


def _events() -> Iterator[tuple[object, ...]]:
    """Rows as COPY takes them, each with its hash."""
    at, head = datetime(2026, 1, 1, tzinfo=UTC), b""
    body = '{"attempt":1,"digest":"' + 64 * "c" + '","round":1,"send":1,"within_ms":10000}'
    for no in range(1, chaining.LENGTH + 1):
        at += timedelta(milliseconds=137)
        key = f"run-0:pay@{no // 3 + 1}"
        lines = [
            "interlock-1",
            "run-0",
            str(no),
            "sent",
            key,
            "worker-1",
            at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            body,
        ]
        head = hashlib.sha256(head + "\n".join(lines).encode()).digest()
        yield (no, "run-0", no, "sent", key, "worker-1", body, at, head)
