"""Everything that is left when chaos is over, as plain rows: what the oracles judge. No code of the engine reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from proof.chaos import notes

Row = dict[str, Any]
#: Table by the name under which the history keeps its rows. Each has an `id` that its order follows, but chains.
TABLES = {
    "runs": "durable_run",
    "effects": "durable_effect",
    "events": "durable_ledgerevent",
    "purses": "durable_purse",
    "budgets": "durable_budget",
    "frozen": "durable_frozen",
    "waits": "durable_wait",
    "attempts": "durable_attempt",
    "gates": "approvals_gate",
    "decisions": "approvals_decision",
    "stops": "durable_stop",
    "people": "auth_user",
}
_ID = re.compile(r"^Message-ID: (<[^>]+>)", re.MULTILINE | re.IGNORECASE)


@dataclass
class History:
    """Rows by table, the vendor's book, each letter's Message-ID, the crowd's notes, and heads of chains seen before.

    `seen` holds (run, number, hash) as onlookers read them while things broke.
    """

    runs: list[Row] = field(default_factory=list)
    effects: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    chains: list[Row] = field(default_factory=list)
    purses: list[Row] = field(default_factory=list)
    budgets: list[Row] = field(default_factory=list)
    frozen: list[Row] = field(default_factory=list)
    waits: list[Row] = field(default_factory=list)
    attempts: list[Row] = field(default_factory=list)
    gates: list[Row] = field(default_factory=list)
    decisions: list[Row] = field(default_factory=list)
    stops: list[Row] = field(default_factory=list)
    people: list[Row] = field(default_factory=list)
    book: list[Row] = field(default_factory=list)
    letters: list[str] = field(default_factory=list)
    notes: list[Row] = field(default_factory=list)
    seen: list[tuple[str, int, bytes]] = field(default_factory=list)

    def noted(self, kind: str) -> list[Row]:
        """What the crowd noted of one kind."""
        return [one for one in self.notes if one["kind"] == kind]

    def events_of(self, *kinds: str) -> list[Row]:
        """The ledger's events of some kinds."""
        return [event for event in self.events if event["kind"] in kinds]

    def dump(self) -> str:
        """All of it as text, for who looks into a violation."""
        return json.dumps(
            asdict(self), default=lambda value: value.hex() if isinstance(value, bytes) else str(value)
        )


def body(event: Row) -> Row:
    """The body of a ledger event."""
    found: Row = json.loads(event["body"])
    return found


def read(
    connection: psycopg.Connection[Any],
    book: Sequence[Row],
    mails: Path,
    crowd: Path,
    seen: Sequence[tuple[str, int, bytes]],
) -> History:
    """Read everything once nothing moves any more. `crowd` is the file of notes, `mails` the folder of letters."""
    with connection.cursor(row_factory=dict_row) as cursor:
        tables = {
            name: _plain(cursor.execute(f"SELECT * FROM {table} ORDER BY id").fetchall())
            for name, table in TABLES.items()
        }
        chains = _plain(cursor.execute("SELECT * FROM durable_chain ORDER BY run_ref").fetchall())
    letters = [name for file in mails.glob("*") for name in _ID.findall(file.read_text(errors="replace"))]
    return History(
        **tables, chains=chains, book=list(book), letters=letters, notes=notes.read(crowd), seen=list(seen)
    )


def _plain(rows: list[Row]) -> list[Row]:
    """Bytes are bytes, whatever the driver calls them."""
    return [
        {name: bytes(value) if isinstance(value, memoryview) else value for name, value in row.items()}
        for row in rows
    ]
