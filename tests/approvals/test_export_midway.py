"""An export whose rows are on their way out of the server: it is stopped, or its maker loses the right."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import close_old_connections, connection, connections
from django.urls import reverse

from approvals.exports import making, orders, work
from approvals.models import Export
from durable.models import LedgerEvent
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_exports import acts, folder, nobody_told
from tests.engine.desk import until
from tests.engine.rooted import superuser

__all__ = ["folder", "nobody_told"]

pytestmark = pytest.mark.django_db(transaction=True)
#: Rows enough for the server to be in the midst of them for a while.
MANY = 20_000
_COPYING = """
SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY (%' AND state = 'active'
"""


@contextmanager
def carried_on(export: Export) -> Iterator[threading.Thread]:
    """A worker at it, in a thread of its own; it has ended when the block is over."""

    def carry_on() -> None:
        close_old_connections()
        try:
            work.carry_on(export.pk)
        finally:
            connections.close_all()

    thread = threading.Thread(target=carry_on)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(60)
        assert not thread.is_alive()


@contextmanager
def locked() -> Iterator[Callable[[], None]]:
    """What COPY reads besides effects, locked until the block calls what it is given: it waits inside the server."""
    with psycopg.connect(superuser()) as wire:
        wire.execute("LOCK TABLE durable_subject IN ACCESS EXCLUSIVE MODE")
        yield wire.rollback


def copying() -> list[int]:
    """The server's processes that are at a COPY."""
    with connection.cursor() as cursor:
        cursor.execute(_COPYING)
        return [pid for (pid,) in cursor.fetchall()]


def row(export: Export) -> Export:
    return Export.objects.get(pk=export.pk)


def many() -> None:
    """Effects by the thousand, copies of one."""
    fields = factories.gate().effect._meta.concrete_fields
    names = [str(field.column) for field in fields if field.column != "id"]
    own = {"key": "key || '#' || n", "ordinal": "1 + n"}
    chosen = ", ".join(own.get(name, name) for name in names)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO durable_effect ({', '.join(names)})"
            f" SELECT {chosen} FROM durable_effect, generate_series(1, %s) n",
            [MANY],
        )


def test_a_stop_ends_a_copy_that_waits_inside_the_server(folder: Path, sign_in: SignIn) -> None:
    rita = factories.person("rita")
    factories.gate()
    export = orders.order(rita, "ledger", "", "csv")
    with locked(), carried_on(export) as worker:
        until(lambda: bool(copying()))
        assert [one.suffix for one in folder.iterdir()] == [".part"]
        assert sign_in(rita).post(reverse("export-stops", args=[export.pk])).status_code == 303
        worker.join(30)
        assert not worker.is_alive() and copying() == []  # although the lock still stands
    assert (row(export).state, list(folder.iterdir())) == ("stopped", [])
    assert acts(export) == [("export asked", "rita"), ("export stopped", "rita")]


def test_a_stop_ends_a_copy_whose_rows_are_on_their_way(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "_BLOCK", 1)
    monkeypatch.setattr(work, "BEAT", 0.02)
    rita = factories.person("rita")
    many()
    export = orders.order(rita, "ledger", "", "jsonl")
    with carried_on(export):
        until(lambda: row(export).rows > 0)
        server = copying()
        for pid in server:
            os.kill(pid, signal.SIGSTOP)
        try:
            assert server and 0 < row(export).rows < MANY
            orders.stop(rita, export.pk)
        finally:
            for pid in server:
                os.kill(pid, signal.SIGCONT)
    stopped = row(export)
    assert (stopped.state, stopped.file, list(folder.iterdir())) == ("stopped", "", [])
    assert acts(export)[-1] == ("export stopped", "rita") and len(acts(export)) == 2
    assert copying() == []


def test_who_loses_the_right_between_claim_and_commit_gets_no_file(folder: Path, sign_in: SignIn) -> None:
    rita = factories.person("rita")
    factories.gate()
    export = orders.order(rita, "ledger", "", "csv")
    with locked() as release, carried_on(export):
        until(lambda: bool(copying()))
        rita.groups.clear()
        release()
    failed = row(export)
    assert (failed.state, failed.file, failed.manifest, list(folder.iterdir())) == ("failed", "", {}, [])
    assert acts(export) == [("export asked", "rita"), ("export failed", "interlock")]
    assert not LedgerEvent.objects.filter(kind="export made").exists()
    assert sign_in(rita).post(reverse("export-downloads", args=[export.pk])).status_code in (403, 404)


def test_the_same_without_a_loss_is_made(folder: Path) -> None:
    rita = factories.person("rita")
    factories.gate()
    export = orders.order(rita, "ledger", "", "csv")
    with locked() as release, carried_on(export):
        until(lambda: bool(copying()))
        release()
    assert row(export).state == "made" and len(list(folder.iterdir())) == 1


def test_a_maker_who_is_let_go_meanwhile_gets_no_file(folder: Path) -> None:
    rita: Any = factories.person("rita")
    factories.gate()
    export = orders.order(rita, "ledger", "", "csv")
    with locked() as release, carried_on(export):
        until(lambda: bool(copying()))
        type(rita).objects.filter(pk=rita.pk).update(is_active=False)
        release()
    assert (row(export).state, list(folder.iterdir())) == ("failed", [])
