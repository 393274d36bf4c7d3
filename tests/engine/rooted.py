"""Helpers of the tests of tamper evidence: events, roots, what is kept outside, and the superuser's hand."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction

from durable import journal
from durable.models import LedgerEvent, Root, Run
from durable.roots import builder, keeping
from durable.roots.statement import Statement, parse
from durable.states import EventKind
from durable.transitions import lock_run
from proof.tampering.hand import events_of, superuser, unguarded
from tests import factories


@pytest.fixture(autouse=True)
def file(settings: Any, tmp_path: Path) -> Path:
    """The file of roots of one test alone; it is the only anchor."""
    settings.INTERLOCK_ANCHORS = ["durable.roots.anchors.File"]
    settings.INTERLOCK_ANCHOR_FILE = str(tmp_path / "roots.jsonl")
    return kept()


def begun() -> Run:
    """A run that a worker holds, with no event yet."""
    return Run.objects.get(pk=factories.running().run_id)


def tell(run: Run, times: int = 1, words: str = "") -> None:
    """Append events to a run, each in a transaction of its own, as every writer does."""
    for _ in range(times):
        with transaction.atomic():
            journal.record(lock_run(run.ref), EventKind.HELD, actor="olga", words=words)


def statements() -> list[Statement]:
    return [parse(text) for text in Root.objects.order_by("number").values_list("statement", flat=True)]


def root_and_keep(size: int = builder.SIZE) -> None:
    """Make the roots that are due, and have every anchor keep them."""
    builder.build(size=size)
    assert keeping.keep() == 0


def kept() -> Path:
    """The file of roots."""
    return Path(settings.INTERLOCK_ANCHOR_FILE)


def mth(leaves: list[bytes]) -> bytes:
    """A Merkle root as RFC 6962 defines it, by nothing of the product."""
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + mth(leaves[:k]) + mth(leaves[k:])).digest()


def mth_of(statement: Statement) -> str:
    """What the events of a root's period make."""
    rows = LedgerEvent.objects.filter(id__gte=statement.first, id__lte=statement.last).order_by("id")
    return mth([f"{e.id}\n{e.run_ref}\n{e.no}\n{bytes(e.hash).hex()}".encode() for e in rows]).hex()


def url(who: str) -> str:
    """The tests' database for one of the three roles."""
    if who == "superuser":
        return superuser()
    return os.environ["DATABASE_URL" if who == "application" else "DATABASE_OWNER_URL"]


@contextmanager
def forging() -> Iterator[psycopg.Connection[Any]]:
    """The superuser at work without any guard; what is done in the block is committed."""
    with psycopg.connect(superuser()) as wire, unguarded(wire):
        yield wire


@contextmanager
def elsewhere() -> Iterator[psycopg.Connection[Any]]:
    """The application on a connection of its own, in a transaction that stays open; rolled back unless committed."""
    values = connection.get_connection_params()
    names = ("host", "port", "user", "password", "dbname")
    opened = psycopg.connect(**{name: values[name] for name in names})
    try:
        yield opened
    finally:
        opened.close()


INSERT = "INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body) VALUES (%s, 'held', '', 'x', '{}')"


def said(command: str, *words: str) -> tuple[int, str]:
    """Exit code and output of a management command."""
    out = io.StringIO()
    try:
        call_command(command, *words, stdout=out, stderr=out)
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue()
    return 0, out.getvalue()


def aged(days: int) -> None:
    """Make every event that there is so much older, and every chain hold again, as if it had been written then."""
    with forging() as wire:
        wire.execute("UPDATE durable_ledgerevent SET at = at - %s * interval '1 day'", [days])
        rechain(wire)


def rechain(wire: psycopg.Connection[Any]) -> None:
    """Make every chain hold again, as if its events had been written as they are now."""
    for (run,) in wire.execute("SELECT run_ref FROM durable_chain ORDER BY run_ref").fetchall():
        head = b""
        for event in events_of(wire, run):
            head = event.after(head)
            wire.execute("UPDATE durable_ledgerevent SET hash = %s WHERE id = %s", [head, event.id])
        wire.execute("UPDATE durable_chain SET head = %s WHERE run_ref = %s", [head, run])
