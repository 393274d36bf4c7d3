"""The system page: each part as read or as failing, and what is wrong in words, with what to do about it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from pkgutil import iter_modules
from typing import Any

from django.conf import settings
from django.template.defaultfilters import filesizeformat

from approvals import migrations as own
from approvals import moments
from approvals.queries import accounts, pages, readings, tamper
from approvals.queries.parts import NONE, Part, Trouble
from approvals.queries.readings import Work
from approvals.queries.words import WORDS, sentence
from approvals.templatetags.interlock import span
from approvals.versions import versions
from durable import migrations as engines
from durable import plan, vault
from durable.clock import db_now
from durable.errors import UnknownAgent
from durable.models import Stop
from durable.text import quoted

log = logging.getLogger(__name__)

#: A due run that nobody has taken for so long says that workers are missing, or too few.
LATE = timedelta(minutes=1)
#: So far behind, the sweeper is not there; it looks every few seconds.
BEHIND = timedelta(seconds=30)
_TABLES, _ORDERS, _WORKERS = 8, 20, 12
#: A worker that has taken nothing for so long is left out.
_SEEN = timedelta(hours=1)


def overview(now: datetime | None = None) -> dict[str, Any]:
    """Everything that system.html shows. No part's failure hides another one."""
    now = now or db_now()
    work = cache(lambda: readings.work(now))
    database = cache(lambda: readings.database(_TABLES))
    parts = [
        _part("Work and workers", "cpu", lambda part: _workers(part, work(), now)),
        _part("Sweeper and beat", "refresh", lambda part: _clocks(part, work(), now)),
        _part("Broker", "mail", _broker),
        _part("Database", "database", lambda part: _database(part, database())),
        _part("Tamper evidence", "fingerprint", lambda part: tamper.evidence(part, now)),
        _part("Statements of vendors", "building-bank", lambda part: accounts.statements_part(part, now)),
        _part("Versions", "versions", lambda part: _versions(part, database().migrations)),
        _part("Stop orders", "player-pause", _stops),
    ]
    parts.append(_part("For machines", "robot", lambda part: _ready(part, parts)))
    troubles = [trouble for part in parts for trouble in part.troubles]
    failing = [Trouble(f"{part.name} can't be read.", part.failing) for part in parts if part.failing]
    return {"parts": parts, "troubles": failing + troubles, "version": pages.version(parts), "now": now}


def _part(name: str, icon: str, read: Callable[[Part], None]) -> Part:
    """Read one part. Whatever its source raises, the page says so in its place."""
    part = Part(name, icon)
    try:
        read(part)
    except Exception as error:  # a page about what is broken must not break
        log.warning("%s can't be read: %s: %s", name, type(error).__name__, error)
        return Part(
            name, icon, failing=f"It did not answer ({type(error).__name__}). The server's log says more."
        )
    return part


def _workers(part: Part, work: Work, now: datetime) -> None:
    found = readings.workers()
    part.facts = [
        ("Runs that wait for a worker", pages.words(work.due)),
        ("The longest for", span(now - work.oldest) if work.oldest else NONE),
        ("Last run taken", f"{span(now - work.claimed)} ago" if work.claimed else "never"),
        ("Leases held", pages.words(work.held)),
        ("Leases run out", pages.words(work.lost)),
    ]
    part.head = ("Worker", "Holds", "Lease for", "Claims", "Lost", "Last claim")
    shown = [one for one in found if one.holds or (one.claimed and now - one.claimed < _SEEN)]
    part.table = [
        (
            one.name,
            str(one.holds),
            _left(one.lease_until, now),
            str(one.claims),
            str(one.lost),
            f"{span(now - one.claimed)} ago" if one.claimed else NONE,
        )
        for one in shown[:_WORKERS]
    ]
    part.note = (
        f"Those that hold a run or took one in the last {span(_SEEN)}, {_WORKERS} at most; of the newest 500 claims. "
        "One that has had nothing to do shows only when it is asked."
    )
    part.troubles = list(_of_work(work, now))


def _left(lease_until: datetime | None, now: datetime) -> str:
    if lease_until is None:
        return NONE
    return span(lease_until - now) if lease_until > now else f"over since {span(now - lease_until)}"


#: What serves every queue.
START_WORKER = "celery -A durable.celery worker -Q runs,retention,bulk"


def _of_work(work: Work, now: datetime) -> list[Trouble]:
    found = []
    if work.oldest is not None and now - work.oldest > LATE:
        waits = f"{pages.words(work.due)} wait{'s' if work.due == 1 else ''}"
        idle = now - work.claimed if work.claimed else None
        if idle is None or idle > LATE:
            since = f"for {span(idle)}" if idle else "yet"
            found.append(
                Trouble(
                    f"No worker has taken a run {since} while {waits}: is one running?",
                    f"Start one: {START_WORKER}",
                )
            )
        else:
            found.append(
                Trouble(
                    f"{waits}, the longest for {span(now - work.oldest)}: workers are there, but too few.",
                    f"Start more, on this machine or another: {START_WORKER}",
                )
            )
    if work.lost_since is not None and now - work.lost_since > BEHIND:
        found.append(
            Trouble(
                f"{pages.words(work.lost)} lease{'' if work.lost == 1 else 's'} ran out, the first"
                f" {span(now - work.lost_since)} ago, and nobody has taken the runs over.",
                "A worker was lost and no other is free. Start a worker; see that the sweeper runs.",
            )
        )
    return found


def _clocks(part: Part, work: Work, now: datetime) -> None:
    lag = work.lag(now)
    part.facts = [
        ("Sweeper behind by", span(lag) if lag else "nothing"),
        ("Looks every", span(settings.SWEEP_SECONDS)),
        ("Lease of a worker", span(settings.LEASE_SECONDS)),
    ]
    if lag > max(BEHIND, 5 * settings.SWEEP_SECONDS):
        part.troubles.append(
            Trouble(
                f"The sweeper is {span(lag)} behind: timers, deadlines and lost runs wait for it.",
                "See that one runs: manage.py sweep --forever",
            )
        )
    late = readings.unpruned(now)
    part.facts.append(("Pruning, beat's work", "overdue" if late else "nothing is overdue"))
    part.note = "Beat leaves no sign of its own; that it asks for the day's pruning is the sign of it."
    if late:
        part.troubles.append(
            Trouble(
                "Nobody has asked for the day's pruning for over an hour: beat or a worker is missing.",
                "See that one beat runs: celery -A durable.celery beat --pidfile=",
            )
        )


def _broker(part: Part) -> None:
    found = readings.depths()
    part.facts = [(f"Messages in {name}", pages.words(depth)) for name, depth in found.items()]
    part.facts.append(("Kind", settings.CELERY_BROKER_URL.partition(":")[0]))
    part.note = "Messages only wake workers up. What is due stands in the database; none is lost with them."
    if found.get("retention", 0) > 3:
        part.troubles.append(
            Trouble(
                f"{found['retention']} askings to prune lie unheard: no worker listens to the queue retention.",
                "Start one that does: celery -A durable.celery worker -Q runs,retention,bulk",
            )
        )


def _database(part: Part, found: readings.Database) -> None:
    part.facts = [
        ("PostgreSQL", found.version),
        ("Size", _bytes(found.size)),
        ("Sessions", f"{found.sessions} of {found.most}"),
    ]
    part.head = ("Table", "Size", "Rows, about")
    part.table = [(name, _bytes(size), f"{rows:,}") for name, size, rows in found.tables]
    if found.sessions > found.most * 0.9:
        part.troubles.append(
            Trouble(
                f"{found.sessions} of {found.most} sessions are taken; soon nobody gets another.",
                "Bound DATABASE_POOL, start fewer processes, or raise max_connections.",
            )
        )
    if not found.honest:
        part.troubles.append(
            Trouble(
                "PostgreSQL does not wait for its disk: after a power failure what was acknowledged may be gone.",
                "Set fsync and full_page_writes to on. manage.py check --database default says more.",
            )
        )


def _bytes(size: int) -> str:
    return filesizeformat(size).replace("\N{NO-BREAK SPACE}", " ")


def _versions(part: Part, tables: Mapping[str, str]) -> None:
    part.facts = list(versions().items())
    for label, package in (("durable", engines), ("approvals", own)):
        newest, applied = _newest(package.__path__), tables.get(label, "")
        part.facts.append((f"Tables of {label}", applied or "not there"))
        if newest > applied:
            part.troubles.append(
                Trouble(
                    f"The tables of {label} are older than the code: {newest} has not been applied.",
                    "Run manage.py migrate.",
                )
            )
    try:
        part.facts.append(("Agents", ", ".join(sorted(plan.agents())) or "none"))
    except UnknownAgent as error:
        part.facts.append(("Agents", "can't be read"))
        part.troubles.append(
            Trouble(sentence(error.rule), "Until it is mended and workers restarted, no run goes on.")
        )


def _newest(path: Any) -> str:
    return max((module.name for module in iter_modules(path)), default="")


def _ready(part: Part, others: list[Part]) -> None:
    """What the two health addresses say now, from what has been read already."""
    away = [one.name.lower() for one in others if one.failing and one.name in ("Broker", "Database")]
    try:
        vault.prove()
    except vault.WrongKey as error:
        away.append("the key")
        part.troubles.append(Trouble(str(error), "Correct INTERLOCK_SEAL_KEY and restart."))
    part.facts = [
        ("/healthz", "200: this process is alive"),
        (
            "/readyz",
            f"503: {' and '.join(away)} can't be used"
            if away
            else "200: database, broker and key can be used",
        ),
    ]


def _stops(part: Part) -> None:
    orders = list(Stop.objects.filter(lifted_at=None).order_by("-pk")[:_ORDERS])
    part.facts = [("Standing", str(len(orders)) if orders else "none")]
    part.head = ("Number", "What", "By", "Since", "Why")
    part.table = [
        (str(one.pk), f"{one.scope} {one.name}".strip(), one.actor, moments.whole(one.at), one.reason)
        for one in orders
    ]
    for one in orders:
        what = "anything" if one.scope == "all" else f"{one.scope} {quoted(one.name)}"
        part.troubles.append(
            Trouble(
                f"A stop order of {one.actor} lets nothing of {what} out: {quoted(one.reason, WORDS)}",
                f"An operator lifts it by its number, {one.pk}: see Emergency stop in docs/operations.md.",
            )
        )
