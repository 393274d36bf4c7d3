"""What can be read about the installation itself: work that waits, leases, broker, database. For people and Prometheus.

Each function asks one thing, cheaply: by an index or of a bounded number of rows, and of the broker with a time limit.
They raise what their source raises; who calls them says that the part is failing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from kombu import Connection

from approvals.queries import pages
from durable.celery import BULK, RETENTION, RUNS
from durable.sql import answer, answers

#: Seconds that the broker may take to answer, and workers to say that they are there.
BROKER_WITHIN, WORKERS_WITHIN = 1.0, 0.5
#: Claims that are looked through for workers that have shown themselves.
_CLAIMS = 500
#: A due run is announced at once; after this it is the sweeper's to announce.
_UNHEARD = timedelta(seconds=15)
#: Beat asks for the day's pass of retention every 15 minutes: of whom nothing was heard for longer is not there.
_ASKED_WITHIN = timedelta(hours=1)
_ASKED = """
SELECT coalesce((SELECT max(asked_at) FROM durable_retentionpass), (SELECT min(at) FROM durable_retentionpolicy))
"""

_DUE = "FROM durable_run WHERE due_at <= %(now)s AND lease_until IS NULL"
_ACTIVE = "FROM durable_run WHERE state IN ('running', 'failing', 'cancelling', 'compensating')"
_WORK = f"""
SELECT (SELECT count(*) FROM (SELECT 1 {_DUE} LIMIT %(most)s) AS due),
       (SELECT min(due_at) {_DUE}),
       (SELECT max(hinted_at) FROM (SELECT hinted_at {_DUE} LIMIT %(most)s) AS hinted),
       (SELECT claimed_at FROM durable_attempt ORDER BY id DESC LIMIT 1),
       (SELECT count(*) FROM (SELECT 1 {_ACTIVE} AND lease_until >= %(now)s LIMIT %(most)s) AS held),
       (SELECT count(*) FROM (SELECT 1 {_ACTIVE} AND lease_until < %(now)s LIMIT %(most)s) AS lost),
       (SELECT min(lease_until) {_ACTIVE} AND lease_until < %(now)s),
       (SELECT min(deadline) FROM durable_wait WHERE state = 'open' AND deadline IS NOT NULL)
"""
_WORKERS = f"""
SELECT worker, sum(holds)::int, min(lease_until), sum(claims)::int, max(claimed_at), sum(lost)::int
FROM (
    SELECT worker, 1 AS holds, lease_until, 0 AS claims, NULL AS claimed_at, 0 AS lost
    {_ACTIVE} AND lease_until IS NOT NULL
    UNION ALL
    (SELECT worker, 0, NULL, 1, claimed_at, (how IS NOT DISTINCT FROM 'lost')::int
     FROM durable_attempt ORDER BY id DESC LIMIT %(claims)s)
) AS seen
GROUP BY worker
"""
_TABLES = """
SELECT c.relname::text, pg_total_relation_size(c.oid), greatest(c.reltuples, 0)::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind = 'r' ORDER BY 2 DESC LIMIT %(tables)s
"""
_DATABASE = """
SELECT pg_database_size(current_database()), current_setting('server_version'),
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       current_setting('max_connections')::int, current_setting('fsync') = 'on'
           AND current_setting('full_page_writes') = 'on',
       (SELECT json_object_agg(app, name) FROM (
           SELECT app, max(name) AS name FROM django_migrations WHERE app IN ('approvals', 'durable') GROUP BY app
       ) AS newest)
"""


@dataclass(frozen=True, slots=True)
class Work:
    """Runs that wait for a worker, leases, and what only the sweeper takes up. Counts stop at 10,001."""

    due: int
    oldest: datetime | None
    hinted: datetime | None
    claimed: datetime | None
    held: int
    lost: int
    lost_since: datetime | None
    deadline: datetime | None

    def lag(self, now: datetime) -> timedelta:
        """How long the oldest thing that the sweeper should have found has been lying there."""
        found = [moment for moment in (self.lost_since, self.deadline) if moment is not None]
        if self.oldest is not None and now - self.oldest > _UNHEARD:
            found.append(max(self.hinted or self.oldest, self.oldest) + _UNHEARD)
        return max([timedelta(0), *(now - moment for moment in found)])


@dataclass(slots=True)
class Worker:
    """One worker as the database knows it: what it holds now, and what it has claimed lately."""

    name: str
    holds: int = 0
    lease_until: datetime | None = None
    claims: int = 0
    lost: int = 0
    claimed: datetime | None = None


@dataclass(frozen=True, slots=True)
class Database:
    """Size and settings of the database; `tables` are the largest: name, bytes, rows as last estimated;
    `migrations` the newest that it has, by application.
    """

    size: int
    version: str
    sessions: int
    most: int
    honest: bool
    tables: list[tuple[str, int, int]]
    migrations: dict[str, str]


def work(now: datetime) -> Work:
    """What waits for workers and for the sweeper."""
    row = answer(_WORK, {"now": now, "most": pages.COUNTED + 1})
    assert row is not None
    found = Work(*row)
    overdue = found.deadline is not None and found.deadline <= now
    return found if overdue else replace(found, deadline=None)


def workers() -> list[Worker]:
    """Workers that hold a run or have claimed one lately, those that were there last first."""
    found = [
        Worker(name, holds, lease_until, claims, lost, claimed)
        for name, holds, lease_until, claims, claimed, lost in answers(_WORKERS, {"claims": _CLAIMS})
    ]
    return sorted(found, key=lambda one: (-one.holds, -(one.claimed.timestamp() if one.claimed else 0)))


def database(tables: int) -> Database:
    """How large it is, and its largest tables."""
    row = answer(_DATABASE, {})
    assert row is not None
    size, version, sessions, most, honest, migrations = row
    largest = [(name, bytes_, rows) for name, bytes_, rows in answers(_TABLES, {"tables": tables})]
    return Database(size, version, sessions, most, honest, largest, migrations or {})


def unpruned(now: datetime) -> bool:
    """Whether beat has not asked for the day's pass of retention for too long, in an installation older than that."""
    row = answer(_ASKED, {})
    return row is not None and row[0] is not None and now - row[0] > _ASKED_WITHIN


def depths() -> dict[str, int]:
    """How many messages lie in each queue. Raises OSError or KombuError where the broker does not answer in time."""
    url = settings.CELERY_BROKER_URL.replace("valkey://", "redis://", 1)
    options = {"socket_timeout": BROKER_WITHIN, "socket_connect_timeout": BROKER_WITHIN, "max_retries": 1}
    redis = url.startswith("redis")
    with Connection(url, connect_timeout=BROKER_WITHIN, transport_options=options if redis else {}) as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=1)
        found = {}
        for name in (RUNS, RETENTION, BULK):
            # A queue in which nothing lies need not exist; asking for it must not make it.
            channel: Any = broker.channel()
            with channel:
                try:
                    found[name] = channel.queue_declare(name, passive=True).message_count
                except broker.channel_errors:
                    found[name] = 0
        return found


def answering() -> list[str]:
    """The names of the workers that answer within half a second. Raises what the broker's client raises."""
    replies = current_app.control.ping(timeout=WORKERS_WITHIN) or []
    return sorted(name for reply in replies for name in reply)
