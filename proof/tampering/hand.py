"""The superuser's hand: takes the guards away, writes what it likes, and puts the guards back."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.db import connection

from durable.roots.merkle import Tree
from durable.roots.statement import hash_of, leaf_of_event, parse
from local import keys

Wire = psycopg.Connection[Any]
_EVENTS = """
SELECT id, run_ref, no, kind, effect_key, actor, at, body, hash FROM durable_ledgerevent
WHERE run_ref = %s ORDER BY no
"""
_TRIGGERS = (
    "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE tgenabled = 'A' AND NOT tgisinternal"
)


@dataclass(frozen=True)
class Event:
    """One row of the ledger, in the order of its columns."""

    id: int
    run: str
    no: int
    kind: str
    key: str
    actor: str
    at: datetime
    body: str
    hash: bytes

    def after(self, head: bytes) -> bytes:
        """Its hash as the ledger's page says that it is made."""
        time = self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        row = ["interlock-1", self.run, str(self.no), self.kind, self.key, self.actor, time, self.body]
        return hashlib.sha256(head + "\n".join(row).encode()).digest()


def superuser() -> str:
    """The superuser's address of this process's database, whose secrets lie in the data folder."""
    there = urlsplit(os.environ["DATABASE_URL"])
    secret = keys.load(Path(os.environ["INTERLOCK_DATA"]))[keys.SUPERUSER]
    name = connection.settings_dict["NAME"]
    return f"postgresql://{keys.SUPERUSER}:{secret}@{there.hostname}:{there.port}/{name}"


@contextmanager
def unguarded(wire: Wire) -> Iterator[None]:
    """For the block no trigger and no foreign key holds; afterwards all of them are as they were."""
    found = wire.execute(_TRIGGERS).fetchall()
    for table, name in found:
        wire.execute(f'ALTER TABLE {table} DISABLE TRIGGER "{name}"'.encode())
    wire.execute("SET LOCAL session_replication_role = replica")
    yield
    wire.execute("SET LOCAL session_replication_role = origin")
    for table, name in found:
        wire.execute(f'ALTER TABLE {table} ENABLE ALWAYS TRIGGER "{name}"'.encode())


def events_of(wire: Wire, run: str) -> list[Event]:
    """The events of a run, in order."""
    return [Event(*row) for row in wire.execute(_EVENTS, [run])]


def rewrite(wire: Wire, run: str, events: Sequence[Event]) -> None:
    """Put these in the place of the run's events, as they are. Two of one number take the constraint with them."""
    if len({event.no for event in events}) < len(events):
        wire.execute("ALTER TABLE durable_ledgerevent DROP CONSTRAINT event_once")
    wire.execute("DELETE FROM durable_ledgerevent WHERE run_ref = %s", [run])
    with wire.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO durable_ledgerevent (id, run_ref, no, kind, effect_key, actor, at, body, hash)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [tuple(vars(event).values()) for event in events],
        )


def chained(events: Sequence[Event]) -> list[Event]:
    """The same, numbered and hashed anew from the first on."""
    head, found = b"", []
    for no, event in enumerate(events, 1):
        event = replace(event, no=no)
        head = event.after(head)
        found.append(replace(event, hash=head))
    return found


def set_head(wire: Wire, run: str, last: Event) -> None:
    """Let the chain's head be that of this event."""
    wire.execute("UPDATE durable_chain SET no = %s, head = %s WHERE run_ref = %s", [last.no, last.hash, run])


def sign_anew(wire: Wire, since: int, key: Ed25519PrivateKey) -> None:
    """Make every root from the number `since` on anew, over the events that are there now, under `key`."""
    name = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
    rows = wire.execute("SELECT number, statement FROM durable_root ORDER BY number").fetchall()
    before, after = "", 0
    for number, text in rows:
        statement = parse(text)
        if number >= since:
            tree, ids = Tree(), []
            for row in wire.execute(
                "SELECT id, run_ref, no, hash FROM durable_ledgerevent WHERE id > %s AND id <= %s ORDER BY id",
                [after, statement.last],
            ):
                tree.add(leaf_of_event(*row))
                ids.append(row[0])
            statement = replace(
                statement,
                first=ids[0] if ids else statement.first,
                count=tree.count,
                hash=tree.root().hex(),
                previous=before or statement.previous,
                key=name,
            )
            text = statement.text()
            wire.execute(
                "UPDATE durable_root SET statement = %s, signature = %s WHERE number = %s",
                [text, key.sign(text.encode()), number],
            )
        before, after = hash_of(text), statement.last
