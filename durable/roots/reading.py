"""Rows by the million, a few thousand at a time: what verifies reads everything and keeps nothing of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import psycopg
from django.db import connection, transaction

Wire = psycopg.Connection[Any]

#: Rows that are fetched at once.
STRETCH = 5_000
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it must be: where, and what in one sentence. Of an event `run` and `no` name it, of a
    statement its number `root`; what is about neither names its place in the sentence.
    """

    sentence: str
    run: str = ""
    no: int = 0
    root: int = 0

    def __str__(self) -> str:
        if self.run:
            return f"{self.run}{f' event {self.no}' if self.no else ''}: {self.sentence}"
        return f"root {self.root}: {self.sentence}" if self.root else self.sentence


def stream(wire: Wire, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the rows that a query finds, inside the open transaction of `wire`; values come in binary form."""
    with psycopg.ServerCursor(wire, f"verify_{next(_numbers)}") as cursor:
        cursor.execute(query.encode(), values, binary=True)
        while rows := cursor.fetchmany(STRETCH):
            yield from rows


def one(wire: Wire, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """Return the first row that a query finds."""
    with psycopg.Cursor(wire) as cursor:
        cursor.execute(query.encode(), values)
        return cursor.fetchone()


def settle(wire: Wire) -> None:
    """Prepare the open transaction for long reading: in UTC, planned to the last row, not ended while we compute."""
    for setting, value in (
        ("timezone", "UTC"),
        ("cursor_tuple_fraction", "1"),
        ("idle_in_transaction_session_timeout", "0"),
    ):
        one(wire, "SELECT set_config(%s, %s, true)", [setting, value])


@contextmanager
def snapshot() -> Iterator[Wire]:
    """One moment of the database, whatever is written meanwhile, on this process's own connection."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        wire: Wire = connection.connection
        settle(wire)
        yield wire
