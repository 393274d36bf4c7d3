"""The tests' database: migrated once by its owner, copied for each test process, cleaned by the superuser."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
import pytest
from django.db import DatabaseError
from psycopg import sql
from psycopg.pq import TransactionStatus

from local.postgres import create_database
from local.pytest_plugin import SHARED

_TEMPLATE = "tests_template"
_LOCK = 4711
_KEPT = ("django_migrations",)
#: What is asked of a table when a test is over. Dead rows beyond 512 kB would slow down the tests that follow.
_IS_FILLED = sql.SQL("EXISTS (SELECT FROM {table})")
_IS_CHANGED = sql.SQL(
    "(SELECT count(*) FROM {table}) <> (SELECT count(*) FROM kept.{table})"
    " OR EXISTS (SELECT * FROM {table} EXCEPT SELECT * FROM kept.{table})"
)
_ARE_LARGE = (
    "SELECT coalesce(bool_or(pg_relation_size(one::regclass) > 524288), false) FROM unnest(%s::text[]) AS one"
)


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: Any) -> Iterator[None]:
    """This process's database, copied from a template that the first one to come has migrated as the owner."""
    from django.db import connections
    from django.test import TransactionTestCase

    name = connections["default"].settings_dict["NAME"]
    with django_db_blocker.unblock(), psycopg.connect(_admin("postgres"), autocommit=True) as admin:
        admin.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        if not admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [_TEMPLATE]).fetchone():
            _migrate_template(admin)
        create_database(admin, name, template=_TEMPLATE)
        admin.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
    # Django would TRUNCATE as the application, which may not.
    TransactionTestCase._fixture_teardown = _clean  # type: ignore[attr-defined]  # not in django-stubs
    # Django would end every connection. A new one signs in anew, and looks up every table, trigger and function again.
    TransactionTestCase._should_reload_connections = renew  # type: ignore[attr-defined]  # not in django-stubs
    yield
    if _Cleaner.connection is not None:
        _Cleaner.connection.close()
    with django_db_blocker.unblock():
        connections.close_all()


@pytest.fixture(autouse=True, scope="session")
def cheap_passwords() -> None:
    """Hash passwords in no time: tests make many people."""
    from django.conf import settings

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def _admin(name: str | None = None) -> str:
    from django.db import connections

    name = name or connections["default"].settings_dict["NAME"]
    return str(json.loads(os.environ[SHARED])["admin"]).format(name)


def _migrate_template(admin: psycopg.Connection) -> None:
    """Migrate as the owner, with the grants that production has; remember what the migrations themselves put in."""
    from django.core.management import call_command
    from django.db import connections

    building = f"{_TEMPLATE}_building"
    create_database(admin, building)
    owner = connections["owner"]
    name = owner.settings_dict["NAME"]
    owner.settings_dict["NAME"] = building
    try:
        call_command("migrate", verbosity=0, interactive=False)
    finally:
        owner.close()
        owner.settings_dict["NAME"] = name
    with psycopg.connect(_admin(building), autocommit=True) as connection:
        # The log begins empty for each test, however much the installation has told it.
        guards = _all_guards(connection)
        empty = sql.SQL("TRUNCATE durable_ledgerevent, durable_chain CASCADE")
        connection.execute(
            sql.SQL("; ").join([*_guards(guards, "DISABLE"), empty, *_guards(guards, "ENABLE ALWAYS")])
        )
        connection.execute("CREATE SCHEMA kept")
        for table in _tables(connection):
            copy = sql.SQL("CREATE TABLE kept.{0} AS TABLE public.{0}").format(sql.Identifier(table))
            if connection.execute(
                sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(table))
            ).fetchone():
                connection.execute(copy)
    admin.execute(
        sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(building), sql.Identifier(_TEMPLATE))
    )


def _tables(connection: psycopg.Connection, schema: str = "public") -> list[str]:
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [schema]).fetchall()
    return [row[0] for row in rows if row[0] not in _KEPT]


def _clean(case: Any) -> None:
    """After a test that committed: everything as the migrations left it. The guards sleep for this session alone.

    Few rows are deleted, which is quicker than new files for every table and index; dead ones are not left to pile up.
    """
    connection = _superuser()
    tables, kept = _tables(connection), _tables(connection, "kept")
    _learn(connection, tables, kept)
    with connection.transaction():
        spoilt = _answer(connection, "SELECT pg_temp.spoilt()")
        if _answer(connection, _ARE_LARGE, spoilt):
            spoilt = tables
            empty = sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(map(sql.Identifier, tables)))
        else:
            empty = sql.SQL("; ").join(
                sql.SQL("DELETE FROM {}").format(sql.Identifier(one)) for one in spoilt
            )
        if spoilt:
            guards = [guard for guard in _all_guards(connection) if guard[0] in spoilt]
            back = sql.SQL("INSERT INTO {0} SELECT * FROM kept.{0}")
            restored = [back.format(sql.Identifier(table)) for table in kept if table in spoilt]
            connection.execute(
                sql.SQL("; ").join(
                    [*_guards(guards, "DISABLE"), empty, *restored, *_guards(guards, "ENABLE ALWAYS")]
                )
            )


def renew(case: Any = None) -> bool:
    """Make each connection of a test what a new one is, or end it; whether Django shall end them all: never.

    Kept is one that the test neither broke nor left in the midst of anything, and that leads where the settings say.
    """
    from django.db import connections

    for wrapper in connections.all(initialized_only=True):
        if not _renewed(wrapper):
            wrapper.close()
    return False


def _renewed(wrapper: Any) -> bool:
    """Whether one connection is as good as new: settings, locks, listeners, temporary tables, prepared statements."""
    raw = wrapper.connection
    if raw is None or wrapper.pool is not None or wrapper.in_atomic_block:
        return False
    if raw.closed or not raw.autocommit or raw.info.transaction_status != TransactionStatus.IDLE:
        return False
    there = wrapper.settings_dict
    if (raw.info.dbname, raw.info.user, raw.info.port) != (there["NAME"], there["USER"], int(there["PORT"])):
        return False
    try:
        raw._prepared.clear()  # its own list of what the next line makes the server forget
        raw.execute("DISCARD ALL")
        wrapper.init_connection_state()
    except (psycopg.Error, DatabaseError):
        return False
    wrapper.run_on_commit = []
    wrapper.errors_occurred = wrapper.closed_in_transaction = False
    wrapper.health_check_done = True
    return True


class _Cleaner:
    """What all clean-ups of this process share: a new connection signs in anew, and must look up every table again."""

    url = ""
    connection: psycopg.Connection | None = None
    #: Whose session can say which of these tables are spoilt, these of them having been filled by the migrations.
    knows: tuple[psycopg.Connection, list[str], list[str]] | None = None


def _superuser() -> psycopg.Connection:
    """The connection that cleans up, opened anew where a test has ended it."""
    url = _admin()
    if _Cleaner.connection is not None and _Cleaner.url == url:
        try:
            _Cleaner.connection.execute("SELECT 1")
            return _Cleaner.connection
        except psycopg.OperationalError:
            _Cleaner.connection.close()
    opened = psycopg.connect(url, connect_timeout=5, autocommit=True)
    opened.execute("SET lock_timeout = '10s'; SET session_replication_role = replica")
    _Cleaner.url, _Cleaner.connection = url, opened
    return opened


def _learn(connection: psycopg.Connection, tables: list[str], kept: list[str]) -> None:
    """Have the session know how to find the tables in which a test has left anything, of these.

    Asked in one statement, all are planned anew each time, which takes longer than to look. A function keeps its plans,
    but for tables that have changed: those whose guards slept.
    """
    if _Cleaner.knows == (connection, tables, kept):
        return
    asked = [
        sql.SQL("IF {question} THEN spoilt := spoilt || {name}::text; END IF;").format(
            question=(_IS_CHANGED if table in kept else _IS_FILLED).format(table=sql.Identifier(table)),
            name=sql.Literal(table),
        )
        for table in tables
    ]
    body = sql.SQL("DECLARE spoilt text[] := '{{}}'; BEGIN {asked} RETURN spoilt; END").format(
        asked=sql.SQL(" ").join(asked)
    )
    connection.execute(
        sql.SQL("CREATE OR REPLACE FUNCTION pg_temp.spoilt() RETURNS text[] LANGUAGE plpgsql AS {}").format(
            sql.Literal(body.as_string(connection))
        )
    )
    _Cleaner.knows = (connection, tables, kept)


def _answer(connection: psycopg.Connection, query: LiteralString, *given: object) -> Any:
    row = connection.execute(query, given or None).fetchone()
    assert row is not None
    return row[0]


def _all_guards(connection: psycopg.Connection) -> list[Any]:
    """Triggers that refuse or log deletion, whatever the session's role: each as its table and name."""
    return connection.execute(
        "SELECT tgrelid::regclass::text, tgname FROM pg_trigger"
        " WHERE tgenabled = 'A' AND (tgtype & 40 <> 0 OR tgname LIKE 'log\\_%')"
    ).fetchall()


def _guards(guards: list[Any], verb: str) -> list[sql.Composed]:
    """What turns them off or on."""
    each = sql.SQL("ALTER TABLE {} {} TRIGGER {}")
    return [each.format(sql.Identifier(table), sql.SQL(verb), sql.Identifier(name)) for table, name in guards]
