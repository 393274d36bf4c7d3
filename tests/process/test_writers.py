"""Many processes write events at once, some of them fail or are killed over it: the chains stay whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psycopg
import pytest

from durable.models import Chain, LedgerEvent
from durable.roots import builder
from tests.engine import desk, held, rooted
from tests.engine.rooted import INSERT, begun, elsewhere, file, tell

__all__ = ["file"]

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]

#: Writes events to some chains in turn, each in a transaction of its own.
_WRITES = f"""
import os, sys, psycopg
with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as wire:
    for number in range(int(sys.argv[1])):
        wire.execute({INSERT!r}, [sys.argv[2 + number % (len(sys.argv) - 2)]])
"""
#: Writes one event, says so, and waits with its transaction open.
_WAITS = f"""
import os, sys, time, psycopg
wire = psycopg.connect(os.environ["DATABASE_URL"])
wire.execute({INSERT!r}, [sys.argv[1]])
print("written", flush=True)
time.sleep(60)
"""


def verified() -> list[str]:
    code, told = rooted.said("verify", "--anchors", str(rooted.kept()))
    assert code == 0, told
    return told.splitlines()


def test_eight_writers_of_a_thousand_events_each_make_no_fork_and_every_root_holds() -> None:
    shared = [begun() for _ in range(5)]
    refs = [run.ref for run in shared]
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITES, "1000", *refs[n % 5 :], *refs[: n % 5]])
        for n in range(8)
    ]
    made = 0
    while any(writer.poll() is None for writer in writers):
        made += builder.build(size=500)
    assert [writer.returncode for writer in writers] == [0] * 8
    rooted.root_and_keep(size=500)
    assert made > 0
    assert {chain.no for chain in Chain.objects.all()} == {1_600}
    assert LedgerEvent.objects.count() == 8_000
    assert "8,000 events in 5 chains" in verified()
    assert sum(statement.count for statement in rooted.statements()) == 8_000


def test_a_failed_and_a_killed_write_leave_a_chain_that_goes_on_and_verifies() -> None:
    run = begun()
    tell(run, 2)
    with elsewhere() as opened, pytest.raises(psycopg.errors.CheckViolation):
        opened.execute(INSERT.replace("'x'", "E'a\\nb'"), [run.ref])
    killed = subprocess.Popen([sys.executable, "-c", _WAITS, run.ref], stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None and killed.stdout.readline() == "written\n"
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    desk.until(lambda: not _open())
    tell(run, 2)
    rooted.root_and_keep()
    assert list(LedgerEvent.objects.order_by("no").values_list("no", flat=True)) == [1, 2, 3, 4]
    held.check_chains()
    assert verified()[-1] == "everything holds"


def _open() -> int:
    """How many transactions have written something, and are neither committed nor undone."""
    with psycopg.connect(rooted.superuser(), autocommit=True) as admin:
        row = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND datname = current_database()"
        ).fetchone()
    assert row is not None
    return int(row[0])
