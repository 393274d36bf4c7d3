"""Hand-written statements, on the shortest way to the server: prepared there, sent with their values and no more.

Django's cursor costs the client as much again as such a statement does. What it gives is kept: a connection that is
opened and checked when it is needed, Django's errors, nothing in a transaction that is broken. Where somebody listens
to what is executed (`execute_wrapper`, or a log of queries), the statement goes through it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from django.db import connection
from psycopg import Connection, RawCursor

Row = tuple[Any, ...]

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
#: A cursor for each connection: to make one takes a tenth of the time that a small statement takes.
_cursors: WeakKeyDictionary[Connection[Row], RawCursor[Row]] = WeakKeyDictionary()


def listed(states: Iterable[Enum]) -> str:
    """Return states as they stand in an IN. Written out: of an array the server knows too little to keep its plan."""
    return ", ".join(sorted(f"'{state.value}'" for state in states))


def answer(statement: str, values: Mapping[str, Any]) -> Row | None:
    """Execute a statement with `%(name)s` in it and return the first row that it answers with, or None."""
    with _executed(statement, values) as cursor:
        row: Row | None = cursor.fetchone()
    return row


def answers(statement: str, values: Mapping[str, Any]) -> list[Row]:
    """Do as `answer`, and return all rows."""
    with _executed(statement, values) as cursor:
        rows: list[Row] = cursor.fetchall()
    return rows


def count(statement: str, values: Mapping[str, Any]) -> int:
    """Execute a statement that answers with no row; return how many rows it has written."""
    with _executed(statement, values) as cursor:
        written: int = cursor.rowcount
    return written


@contextmanager
def _executed(statement: str, values: Mapping[str, Any]) -> Iterator[Any]:
    if connection.execute_wrappers or connection.queries_logged:
        with connection.cursor() as heard:
            heard.execute(statement, values)
            yield heard
        return
    sent, names = _positional(statement)
    with connection.wrap_database_errors:
        raw = _cursor()
        raw.execute(sent, [values[name] for name in names])
        yield raw


def _cursor() -> RawCursor[Row]:
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    connection.validate_thread_sharing()
    connection.validate_no_broken_transaction()
    wire: Connection[Row] = connection.connection
    found = _cursors.get(wire)
    if found is None:
        found = _cursors[wire] = RawCursor(wire)
    return found


@cache
def _positional(statement: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement as the server takes it, each name once and by its number, and the names in that order."""
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        return f"${names.setdefault(found[1], len(names) + 1)}"

    sent = _PLACEHOLDER.sub(number, statement)
    return sent.replace("%%", "%"), tuple(names)
