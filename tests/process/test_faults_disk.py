"""A disk that is full, and one that can't keep what it is told: nothing leaves without a committed intent."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection

from durable import runner, runs
from durable.models import LedgerEvent, Run
from local import keys
from local.throwaway import ThrowAway
from tests.process import house
from tests.process.house import Ticket
from tests.vendors import Vendor

pytestmark = pytest.mark.process
ROOM = 160  # megabytes: the cluster, its tables, and a little to work in


def needs(there: bool, what: str) -> None:
    """Skip, loudly, without `what`; on a build machine of root's it must be there."""
    if there:
        return
    if os.environ.get("CI") and os.geteuid() == 0:
        pytest.fail(f"{what}: compulsory on a build machine")
    pytest.skip(f"NOT SHOWN HERE: {what}")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disk of its own, on which temporary folders are made."""
    disk = tmp_path / "disk"
    disk.mkdir()
    told = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}m", "tmpfs", str(disk)]
    mounted = (
        os.geteuid() == 0
        and shutil.which("mount") is not None
        and subprocess.run(told, capture_output=True, check=False).returncode == 0
    )
    needs(mounted, "a full disk needs root and a tmpfs")
    disk.chmod(0o711)
    for folder in (tmp_path, *tmp_path.parents):
        if folder != Path("/tmp") and Path("/tmp") in folder.parents:
            folder.chmod(0o711)  # the server's own account must get through
    monkeypatch.setattr("tempfile.tempdir", str(disk))
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.fixture
def server(request: Any, vendor: Vendor, transactional_db: None, settings: Any) -> Iterator[ThrowAway]:
    """A server of one's own with the tables made, which this process speaks to."""
    settings.LEASE_SECONDS = timedelta(seconds=1)
    found = ThrowAway.migrated(fsync=True)
    try:
        with house.database(found.postgres.url()), house.broker(found.broker.url()):
            yield found
    finally:
        found.stop()


def start(vendor: Vendor, name: str) -> Ticket | None:
    """Start a run; None where it was refused because the database can't take it."""
    ticket = Ticket(vendor, name)
    try:
        return ticket.start()
    except OperationalError:
        connection.close()
        return None


def driven(ticket: Ticket) -> bool:
    """Drive a run once. Whether the database took all of it."""
    try:
        runner.drive(ticket.run.ref)
        return ticket.ended()
    except OperationalError:
        connection.close()
        return False


def intents() -> set[str]:
    return set(LedgerEvent.objects.filter(kind="intent").values_list("effect_key", flat=True))


def test_with_a_full_disk_nothing_leaves_without_an_intent_and_all_goes_on_once_there_is_room(
    small: Path, server: ThrowAway, vendor: Vendor
) -> None:
    tickets = [Ticket(vendor, f"full-{n}").start() for n in range(3)]
    gated = [Ticket(vendor, f"gated-{n}", paid="184.50").start() for n in range(3)]
    assert [driven(ticket) for ticket in gated] == [False] * 3
    answers = [house.signed_in(ticket) for ticket in gated]
    filler = small / "filler"
    fill(filler)
    refused = 0
    for n in range(200):
        ticket = start(vendor, f"more-{n}")
        if ticket is None:
            refused += 1
            if refused == 3:
                break
        else:
            tickets.append(ticket)
            driven(ticket)
    assert refused == 3, "the disk was never full"
    for ticket in tickets:
        driven(ticket)
    said = [browser.post(*form).status_code for browser, form in answers]

    filler.unlink()
    revive(server)
    house.until(lambda: [t for t in tickets if not t.ended() and not driven(t)] == [], "all to complete")
    kept = [LedgerEvent.objects.filter(run_ref=t.run.ref, kind="approved").count() for t in gated]
    assert [status == 303 for status in said] == [count == 1 for count in kept]
    assert set(said) <= {303, 503}
    booked = [one["key"] for one in vendor.book()]
    assert len(booked) == len(set(booked)) == len(tickets)
    assert set(booked) <= intents()
    assert Run.objects.count() == len(
        [*tickets, *gated]
    )  # what was refused is not there, what was acknowledged is


def fill(file: Path) -> None:
    """Write until there is no room for another byte."""
    with file.open("wb", buffering=0) as out:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    out.write(b"\0" * size)
            except OSError:
                continue


def revive(server: ThrowAway) -> None:
    """Start the server again where it has given up."""
    connection.close()
    process = server.postgres.process
    assert process is not None
    end = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < end:
        try:
            psycopg.connect(server.postgres.url(keys.SUPERUSER), connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    server.postgres.stop()
    server.postgres.start()


def test_a_disk_that_fails_to_keep_a_commit_is_never_believed(server: ThrowAway, vendor: Vendor) -> None:
    tracer = shutil.which("strace")
    needs(tracer is not None, "a failing disk needs strace")
    before = Ticket(vendor, "before").start()
    assert driven(before)
    connection.close()
    process = server.postgres.process
    assert process is not None
    faults = ["-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:error=EIO:when=1+"]
    told = [str(tracer), "-f", "-qq", "-o", "/dev/null", "-p", str(process.pid), *faults]
    tracing = subprocess.Popen(told, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        # A backend that is born under the tracer is traced: its first commit that waits for the disk fails.
        time.sleep(1)
        needs(tracing.poll() is None, "strace may not trace here")
        given = {"order": "8812", "wants": "money"}
        with pytest.raises(OperationalError):
            runs.start("RefundDesk", given, actor="tests")
    finally:
        tracing.terminate()
        tracing.wait()
        assert tracing.stderr is not None
        tracing.stderr.close()
    log = (server.postgres.home / "log").read_text(errors="replace")
    assert "could not fsync" in log or "could not fdatasync" in log

    revive(server)
    house.until(lambda: driven(Ticket(vendor, "after").start()), "a run after the disk is well again")
    assert before.ended()
    assert before.moved() == [Decimal("40.00")]
