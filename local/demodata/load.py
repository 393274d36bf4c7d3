"""Bringing the stories in: told by several processes, copied by one connection of the owner's, all in one transaction.

One transaction, because the guards of the ledger are off in it: nobody else ever sees them so, and a kill leaves the
database as empty as it was. Tables that the same transaction has emptied take their rows frozen, so that no vacuum has
to read them all again; keys and indexes are built once at the end.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from multiprocessing import get_context

import django
from django.apps import apps
from django.contrib.auth.models import User
from django.db import OperationalError, ProgrammingError, connections, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.errors import LockNotAvailable, UndefinedTable

from approvals.people import DEMO_PEOPLE
from durable import summary
from durable.models import Indexed, RetentionPolicy, SignKey
from local import demo
from local.demodata import cast, stated
from local.demodata.bare import uncovered
from local.demodata.cast import Batch, Plan
from local.demodata.chronicle import World
from local.demodata.rows import COLUMNS

#: How long to wait for whoever uses a table.
_PATIENCE = "5s"
#: Seconds between two words about how far it is.
_SILENCE = 5.0


#: An installation logs its roles and people before anything has run: that stays, and is no use of it.
_OF_RUNS = "run_ref LIKE 'run-%'"
_USED = {"durable_ledgerevent": _OF_RUNS, "durable_chain": _OF_RUNS}
_USED |= dict.fromkeys(("durable_actkey", "durable_actwords", "approvals_tried", "approvals_reader"), "false")
_LOGGED = ("durable_ledgerevent", "durable_chain")
#: Acts take the numbers behind the last one of a story.
_BEHIND = "(SELECT max(id) FROM durable_ledgerevent)"
_BACK = (
    "UPDATE logged_ledgerevent SET id = id + {behind}",
    "UPDATE durable_actwords SET event_id = event_id + {behind}",
    "INSERT INTO durable_ledgerevent SELECT * FROM logged_ledgerevent",
    "INSERT INTO durable_chain SELECT * FROM logged_chain",
)
#: Processes know each of its own names; those that two have told stay once.
_ONCE = """
DELETE FROM durable_subjectname one USING durable_subjectname two WHERE one.hash = two.hash AND one.id > two.id
"""
_STATISTICS = f"ANALYZE {', '.join(COLUMNS)}"
_INDEXED = """
UPDATE durable_indexed SET (done, mark) = (SELECT coalesce(max(id), 0), coalesce(max(id), 0) FROM durable_ledgerevent)
"""


class InUse(Exception):
    """The database holds something, or somebody uses it: nothing was changed."""


@dataclass(frozen=True)
class Order:
    """What is wanted: the cast, dealt out over the years before `until`. Without `processes` this one tells it all."""

    plan: Plan
    seed: int
    years: float
    until: datetime
    processes: int = 0


@dataclass
class Made:
    """What has been made: rows, and bytes of the table and of its indexes, for each table; seconds of each part of the
    work, and of all of it; the lines that say how to sign in.
    """

    tables: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    took: float = 0.0
    people: list[str] = field(default_factory=list)


#: Tables in which migrating puts a row.
_FILLED = (Indexed, RetentionPolicy, SignKey)


def tables() -> list[str]:
    """Every table of the engine and the console that is empty in the beginning."""
    models = (model for app in ("durable", "approvals") for model in apps.get_app_config(app).get_models())
    return sorted(model._meta.db_table for model in models if model._meta.managed and model not in _FILLED)


def fill(order: Order, say: Callable[[str], None]) -> Made:
    """Fill the empty database as ordered. Raises InUse where it is not empty; then nothing is changed."""
    made, began = Made(), time.monotonic()
    refuse_used()
    made.people = demo.people()
    world = World(
        order.until.astimezone(UTC).replace(tzinfo=None), dict(User.objects.values_list("username", "id"))
    )
    try:
        rows = _fill(order, world, made, say)
        with _timed(made, "statistics"), connections["owner"].cursor() as cursor:
            say("gathering statistics")
            cursor.execute(_STATISTICS)
            _measure(cursor, made, rows)
        with _timed(made, "statements"):
            stated.state(order.until)
    finally:
        connections["owner"].close()
    made.took = time.monotonic() - began
    return made


def _fill(order: Order, world: World, made: Made, say: Callable[[str], None]) -> dict[str, int]:
    """Fill the tables, in one transaction. Returns the number of rows of each."""
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        _take(cursor)
        with uncovered(cursor, list(COLUMNS)):
            with _timed(made, "stories"):
                rows = _copy(cursor, order, world, say)
                cursor.execute(_ONCE)
            # Planned without statistics, keys are checked and effects summed up by looking up row by row.
            cursor.execute(_STATISTICS)
            say("building keys and indexes, and putting the guards back")
            since = time.monotonic()
        made.seconds["indexes"] = time.monotonic() - since
        _number_on(cursor)
        say("summing the effects up")
        since = time.monotonic()
        cursor.execute(summary.SUM_UP_ALL)
        cursor.execute(_INDEXED)
    made.seconds["sums and commit"] = time.monotonic() - since
    return rows


def refuse_used() -> None:
    """Raise InUse where a table of the product has a row, or somebody may sign in who is not of the demonstration."""
    try:
        with connections["owner"].cursor() as cursor:
            _refuse(cursor)
    except ProgrammingError as error:
        if not isinstance(error.__cause__, UndefinedTable):
            raise
        raise InUse("the tables are not there; run `migrate` first") from error


def _refuse(cursor: CursorWrapper) -> None:
    for table in tables():
        cursor.execute(f"SELECT 1 FROM {table} WHERE {_USED.get(table, 'true')} LIMIT 1")
        if cursor.fetchone():
            raise InUse(f"{table} has rows already; name a database without any, fresh from `migrate`")
    names = [person.username for person in DEMO_PEOPLE]
    cursor.execute("SELECT username FROM auth_user WHERE username <> ALL(%s) LIMIT 1", [names])
    if found := cursor.fetchone():
        raise InUse(f"{found[0]} may sign in here, who is nobody of the demonstration; name another database")


def _take(cursor: CursorWrapper) -> None:
    """Have the tables for this transaction alone, and see once more that they are empty."""
    cursor.execute(f"SET LOCAL lock_timeout = '{_PATIENCE}'")
    try:
        cursor.execute(f"LOCK TABLE {', '.join(tables())} IN ACCESS EXCLUSIVE MODE")
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise InUse("somebody uses this database: stop its workers, sweeper and pages first") from error
    _refuse(cursor)
    cursor.execute("SET LOCAL maintenance_work_mem = '512MB'")
    cursor.execute("SET LOCAL max_parallel_maintenance_workers = 4")


def _copy(cursor: CursorWrapper, order: Order, world: World, say: Callable[[str], None]) -> dict[str, int]:
    """Copy all batches in, the oldest first. Returns the number of rows of each table."""
    for table in _LOGGED:
        kept = table.replace("durable", "logged")
        cursor.execute(f"CREATE TEMPORARY TABLE {kept} ON COMMIT DROP AS SELECT * FROM {table}")
    cursor.execute(f"TRUNCATE {', '.join(COLUMNS)}")
    rows = dict.fromkeys(COLUMNS, 0)
    began = told = time.monotonic()
    for texts in _told(order, world):
        for table, text in texts.items():
            with cursor.copy(f"COPY {table} ({', '.join(COLUMNS[table])}) FROM STDIN (FREEZE)") as copy:
                copy.write(text)
            rows[table] += text.count(b"\n")
        now = time.monotonic()
        if now - told > _SILENCE:
            done, told = rows["durable_run"], now
            pace = done / (now - began)
            say(f"{done:,} of {len(order.plan.kinds):,} runs, {pace:,.0f} a second")
    for statement in _BACK:
        cursor.execute(statement.format(behind=_BEHIND))
    return rows


def _told(order: Order, world: World) -> Iterator[Mapping[str, bytes]]:
    """The batches as they are told, in order; by other processes, of which none gets far ahead."""
    batches = cast.batches(order.plan, world.until, order.years)
    tell = partial(cast.tell, world=world, seed=order.seed)
    if not order.processes:
        yield from map(tell, batches)
        return
    # Not forked: this process has connections open.
    with ProcessPoolExecutor(order.processes, get_context("spawn"), django.setup) as pool:
        ahead: deque[Future[dict[str, bytes]]] = deque()
        waiting: Iterator[Batch] = iter(batches)
        ahead.extend(pool.submit(tell, batch) for batch in islice(waiting, 2 * order.processes))
        while ahead:
            texts = ahead.popleft().result()
            ahead.extend(pool.submit(tell, batch) for batch in islice(waiting, 1))
            yield texts


def _number_on(cursor: CursorWrapper) -> None:
    """Let the tables' own numbers go on behind ours."""
    for table, columns in COLUMNS.items():
        if columns[0] == "id":
            cursor.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), coalesce(max(id), 1)) FROM {table}"
            )


def _measure(cursor: CursorWrapper, made: Made, rows: Mapping[str, int]) -> None:
    for table, count in rows.items():
        cursor.execute(f"SELECT pg_table_size('{table}'), pg_indexes_size('{table}')")
        made.tables[table] = (count, *cursor.fetchone())


class _timed:
    """Notes how many seconds a block has taken."""

    def __init__(self, made: Made, name: str) -> None:
        self.made, self.name = made, name

    def __enter__(self) -> None:
        self.began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self.made.seconds[self.name] = time.monotonic() - self.began
