"""The database that tests get is the one that production has: three roles, and a ledger that only grows."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db import ProgrammingError, connection, connections, transaction

from durable.checks import honest_database
from durable.models import APPEND_ONLY_TABLES
from local.testdb import renew


def scalar(query: str, using: str = "default") -> object:
    with connections[using].cursor() as cursor:
        cursor.execute(query)
        row = cursor.fetchone()
    assert row is not None
    return row[0]


@pytest.mark.django_db
def test_the_application_is_no_superuser_and_owns_nothing() -> None:
    assert scalar("SELECT current_setting('is_superuser')") == "off"
    assert scalar("SELECT count(*) FROM pg_tables WHERE tableowner = current_user") == 0


@pytest.mark.django_db(databases=["default", "owner"])
def test_the_owner_is_no_superuser_and_owns_the_tables() -> None:
    assert scalar("SELECT current_setting('is_superuser')", "owner") == "off"
    assert scalar(
        "SELECT bool_and(tableowner = current_user) FROM pg_tables WHERE schemaname = 'public'", "owner"
    )


@pytest.mark.django_db
@pytest.mark.parametrize("table", APPEND_ONLY_TABLES)
@pytest.mark.parametrize("verb", ["UPDATE {} SET {} = {}", "DELETE FROM {}", "TRUNCATE {}"])
def test_the_application_may_not_change_the_ledger(table: str, verb: str) -> None:
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        column = next(model._meta.pk.column for model in apps.get_models() if model._meta.db_table == table)
        cursor.execute(verb.format(table, column, column))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", [1, 2])
def test_a_committing_test_leaves_nothing_behind(turn: int) -> None:
    assert not Group.objects.filter(name="left by an earlier test").exists()
    Group.objects.create(name="left by an earlier test")


#: What a session can hold, and what a new one of ours has of it.
_HELD = {
    "SELECT current_setting('lock_timeout')": "0",
    "SELECT current_setting('TimeZone')": "UTC",
    "SELECT count(*) FROM pg_prepared_statements": 0,
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()": 0,
    "SELECT count(*) FROM pg_listening_channels()": 0,
    "SELECT to_regclass('pg_temp.group_of_an_earlier_test') IS NULL": True,
}
_HOLDING = (
    "SET lock_timeout = '7s'",
    "SET TimeZone = 'Asia/Tokyo'",
    "PREPARE of_an_earlier_test AS SELECT 1",
    "SELECT pg_advisory_lock(1)",
    "LISTEN earlier_tests",
    "CREATE TEMPORARY TABLE group_of_an_earlier_test (id int)",
)


@pytest.mark.django_db(transaction=True)
def test_the_next_test_finds_nothing_in_a_session_that_it_inherits() -> None:
    assert {query: scalar(query) for query in _HELD} == _HELD
    before = scalar("SELECT pg_backend_pid()")
    with connection.cursor() as cursor:
        for statement in _HOLDING:
            cursor.execute(statement)
        for _ in range(10):
            cursor.execute("SELECT 1")
    assert [query for query, nothing in _HELD.items() if scalar(query) == nothing] == []

    renew()

    assert {query: scalar(query) for query in _HELD} == _HELD
    assert scalar("SELECT pg_backend_pid()") == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("left", ["in a transaction", "as another role", "broken"])
def test_the_next_test_does_not_inherit_a_session_that_a_test_left(left: str) -> None:
    before = scalar("SELECT pg_backend_pid()")
    match left:
        case "in a transaction":
            connection.set_autocommit(False)
            scalar("SELECT 1")
        case "as another role":
            connection.settings_dict = {**connection.settings_dict, "USER": "somebody else"}
        case _:
            connection.connection.close()

    renew()

    connection.settings_dict = connections.settings["default"]
    assert connection.connection is None
    assert connection.get_autocommit()
    assert scalar("SELECT pg_backend_pid()") != before


@pytest.mark.django_db(transaction=True)
def test_what_the_migrations_put_in_survives_the_cleaning() -> None:
    assert Permission.objects.filter(content_type__app_label="durable").exists()


@pytest.mark.django_db
def test_a_server_that_does_not_wait_for_its_disk_is_warned_of() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
    told = [warning.msg.split(":")[0] for warning in honest_database(None, databases=["default"])]
    # The tests' own server is thrown away, and does not wait for anything.
    assert told == [
        f"PostgreSQL runs with {name} = off" for name in ("fsync", "full_page_writes", "synchronous_commit")
    ]


@pytest.mark.django_db
def test_a_session_of_the_product_waits_for_its_commits_whatever_the_servers_default() -> None:
    told = [warning.msg for warning in honest_database(None, databases=["default"])]
    assert not any("synchronous_commit" in line for line in told)
    assert honest_database(None, databases=["owner"]) == []
