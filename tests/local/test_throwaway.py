"""Services for one command: their tables are made once, and whoever needs a database of their own gets a copy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from local import keys
from local.throwaway import PATTERN, ThrowAway, copying

pytestmark = pytest.mark.process
MADE = "SELECT app, name, applied FROM django_migrations ORDER BY id"


def rows(services: ThrowAway, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(services.postgres.url(keys.OWNER), autocommit=True) as owner:
        return owner.execute(query.encode()).fetchall()


@pytest.fixture
def two() -> Iterator[tuple[ThrowAway, ThrowAway]]:
    with ExitStack() as stack:
        found = []
        for fsync in (False, True):
            found.append(ThrowAway.migrated(fsync=fsync))
            stack.callback(found[-1].stop)
        yield found[0], found[1]


def test_the_second_database_is_a_copy_of_the_first_ones_pattern_and_neither_sees_the_other(
    two: tuple[ThrowAway, ThrowAway],
) -> None:
    first, second = two
    # Each was migrated to the same microsecond, which happens to no two that are migrated one after the other.
    assert rows(first, MADE) == rows(second, MADE) != []
    assert first.postgres.data != second.postgres.data

    name = "INSERT INTO auth_group (name) VALUES ('only here') RETURNING id"
    assert rows(first, name)
    there = "SELECT count(*) FROM auth_group WHERE name = 'only here'"
    assert (rows(first, there), rows(second, there)) == ([(1,)], [(0,)])
    assert rows(first, "SHOW fsync") + rows(second, "SHOW fsync") == [("off",), ("on",)]


def test_whoever_starts_services_without_tables_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PATTERN)
    with copying():
        bare = ThrowAway.start()
        try:
            assert rows(bare, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(0,)]
        finally:
            bare.stop()
