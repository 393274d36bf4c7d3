"""A database whose server writes every statement down, with the fault points that the engine passed in between."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from django.db import connection

from durable import faults
from local.keys import APPLICATION, SUPERUSER
from local.throwaway import ThrowAway
from tests.process import house

_ENTRY = re.compile(r"^\S+ \S+ UTC \[(\d+)\] LOG:  (?:statement|execute [^:]+): (.*)$")
_MARK = "SELECT 'passes %s'"
_MARKED = re.compile(r"^SELECT 'passes ([a-z]+\.(?:before|after)_(?:commit|call))'")
_WRITES = re.compile(r"(?:INSERT|UPDATE|DELETE)\b|WITH\b.*\b(?:INSERT INTO|UPDATE|DELETE FROM)\b", re.S)


@dataclass
class Watched:
    """What was seen while `watching`: the server's log, and when which point was passed."""

    services: ThrowAway
    passed: list[tuple[float, str]] = field(default_factory=list)
    since: int = 0

    @property
    def log(self) -> Path:
        return self.services.postgres.home / "log"

    def begin(self) -> None:
        """Forget what was logged until now: it was somebody's making ready."""
        self.since = self.log.stat().st_size

    def mark(self, point: str) -> None:
        """Let the server's log know that a point is passed, on the connection that passes it."""
        self.passed.append((time.time(), point))
        with connection.cursor() as cursor:
            cursor.execute(_MARK % point)

    def backends(self) -> dict[str, list[str]]:
        """The statements of each backend, in order; several lines of one statement are joined."""
        found: dict[str, list[str]] = {}
        last: list[str] = []
        for line in self.log.read_bytes()[self.since :].decode().splitlines():
            entry = _ENTRY.match(line)
            if entry:
                last = found.setdefault(entry[1], [])
                last.append(entry[2])
            elif last and line.startswith("\t"):
                last[-1] += line
        return found

    def bare(self) -> list[str]:
        """Every commit that lacks a point directly before it, or after it, as a sentence."""
        return [one for words in self.backends().values() for one in bare(words)]


def calls(passed: list[tuple[float, str]]) -> list[tuple[float, float]]:
    """From when until when the engine asked the world outside."""
    spans: list[tuple[float, float]] = []
    begun: dict[str, float] = {}
    for at, point in passed:
        name, _, moment = point.partition(".")
        if moment == "before_call":
            begun[name] = at
        elif moment == "after_call":
            spans.append((begun.pop(name), at))
    return spans


def bare(statements: list[str]) -> Iterator[str]:
    """What wrote something and is not preceded by the point before, and followed by the point after."""
    points = [_point(one) for one in statements]
    inside = wrote = False
    for place, statement in enumerate(statements):
        if statement.startswith("BEGIN"):
            inside, wrote = True, False
            continue
        wrote = bool(_WRITES.match(statement)) or (inside and wrote)
        if inside and statement not in ("COMMIT", "ROLLBACK"):
            continue
        inside = False
        if wrote and statement != "ROLLBACK":
            beat, _, moment = points[place - 1].partition(".") if place else ("", "", "")
            if moment != "before_commit" or f"{beat}.after_commit" not in points[place + 1 :]:
                yield f"{statement[:120]} after {statements[place - 1][:200]}"
            wrote = False


def _point(statement: str) -> str:
    found = _MARKED.match(statement)
    return found[1] if found else ""


def by_superuser(services: ThrowAway, statement: str) -> None:
    """Do something that no log shows, for it is not the engine's doing."""
    with psycopg.connect(services.postgres.url(SUPERUSER), autocommit=True) as admin:
        admin.execute(statement.encode())


@contextmanager
def watching() -> Iterator[Watched]:
    """For the block, this process works on a database of its own, and everything is watched."""
    services = ThrowAway.migrated()
    try:
        by_superuser(services, f"ALTER ROLE {APPLICATION} SET log_statement = 'all'")
        seen = Watched(services)
        with house.database(services.postgres.url()), house.broker(services.broker.url()):
            yield seen
    finally:
        faults.disarm_all()
        services.stop()
