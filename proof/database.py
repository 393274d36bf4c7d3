"""A database killed with SIGKILL, every process of it, over and over: what was acknowledged is there afterwards.

The oracle is a file of notes that clients write after the engine has returned, and plain SQL as the superuser.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path

import psycopg
from django.conf import settings

from approvals.people import demo_people
from durable import checkpoints, claims
from durable.models import Run
from local import keys
from local.postgres import kill_all
from local.throwaway import ThrowAway
from proof.acknowledging import KINDS, LAZY, aimed, client, doomed
from proof.report import Row, Say

#: Where a doomed client kills the server, in turn: before and after the commit of each kind.
POINTS = tuple(
    f"{beat}.{when}_commit"
    for beat in ("intent", "outcome", "decision", "claim", "checkpoint")
    for when in ("after", "before")
)
#: Seconds that what was written lazily may be unsafe: three times `wal_writer_delay`, and room for a busy machine.
_MOMENT = 2.0
#: Kills within which a database that waits for nothing must be seen to lose something.
_MOST_TRIES = 10
_CLIENTS = 2
_PATIENCE = 60.0
_LEASE = timedelta(seconds=3)

#: For each kind, the rows that prove it: name and number as in the notes.
_THERE = {
    "run": "SELECT ref, 0 FROM durable_run",
    "claim": "SELECT r.ref, a.number FROM durable_attempt a JOIN durable_run r ON r.id = a.run_id",
    "intent": "SELECT effect_key, 0 FROM durable_ledgerevent WHERE kind = 'intent'",
    "outcome": "SELECT effect_key, body::json->>'receipt' FROM durable_ledgerevent WHERE kind = 'applied'",
    "decision": "SELECT e.key, d.id FROM approvals_decision d JOIN approvals_gate g ON g.id = d.gate_id "
    "JOIN durable_effect e ON e.id = g.effect_id WHERE d.verdict = 'approve'",
    "checkpoint": "SELECT r.ref, c.version FROM durable_checkpoint c JOIN durable_run r ON r.id = c.run_id",
}


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that the engine has acknowledged, and when, on a clock that all processes share."""

    kind: str
    name: str
    number: int | str
    at: float


@dataclass
class Tried:
    """What was tried of one sort of kill, and what came of it."""

    kills: int = 0
    violations: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0


@dataclass
class Server:
    """The server that gets killed, and the notes of its clients."""

    services: ThrowAway
    notes: Path
    seen: float = field(default_factory=time.monotonic)
    lost: int = 0
    lazy: int = 0

    def back(self) -> list[str]:
        """Wait for the end of the server, start it again, and return what was acknowledged and is not there.

        What was written lazily in the last moment is excepted. What was acknowledged before the end may have been
        noted after it: all that was noted since the last call counts.
        """
        postgres = self.services.postgres
        assert postgres.process is not None
        postgres.process.wait(_PATIENCE)
        ended = time.monotonic()
        postgres.process = None
        postgres.start()
        since, self.seen = self.seen, time.monotonic()
        noted = [note for note in self._noted() if since < note.at <= self.seen]
        there = self._there()
        gone = [note for note in noted if (note.name, note.number) not in there[_table(note)]]
        self.lazy += sum(note.kind == LAZY for note in noted)
        self.lost += sum(note.kind == LAZY for note in gone)
        return [
            f"{note.kind} {note.number or ''} of {note.name}, acknowledged {ended - note.at:.2f} s before the end"
            for note in gone
            if note.kind != LAZY or ended - note.at > _MOMENT
        ]

    def counted(self) -> str:
        """Say how much was acknowledged, by kind."""
        count = Counter(note.kind for note in self._noted())
        return ", ".join(f"{count[kind]:,} {kind}s" for kind in KINDS)

    def _noted(self) -> list[Note]:
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [Note(*json.loads(line)) for line in lines]

    def _there(self) -> dict[str, set[tuple[object, ...]]]:
        with psycopg.connect(self.services.postgres.url(keys.SUPERUSER)) as admin:
            return {kind: set(admin.execute(query).fetchall()) for kind, query in _THERE.items()}


def _table(note: Note) -> str:
    return "checkpoint" if note.kind == LAZY else note.kind


def prove(say: Say, *, kills: int) -> list[Row]:
    """Kill a server `kills` times, at commits and at random under load in turn, then show that the check can fail."""
    before = settings.LEASE_SECONDS
    settings.LEASE_SECONDS = _LEASE
    try:
        with _server() as server, aimed(server.services.postgres.url()):
            demo_people()
            rows = [*_killed(server, kills, say), _continued(server)]
        with _server() as server, aimed(server.services.postgres.url(), careless=True):
            demo_people()
            return [*rows, _control(server, say)]
    finally:
        settings.LEASE_SECONDS = before


@contextmanager
def _server() -> Iterator[Server]:
    """A server that waits for the disk, as in production, with the tables made."""
    services = ThrowAway.migrated(fsync=True)
    try:
        yield Server(services, services.folder / "notes")
    finally:
        services.stop()


@contextmanager
def _load(server: Server, *, sync: bool = True) -> Iterator[None]:
    """Clients that write all the time."""
    clients = [client(server.notes, sync=sync) for _ in range(_CLIENTS)]
    try:
        yield
    finally:
        _end(clients)


def _end(children: Sequence[BaseProcess]) -> None:
    for child in children:
        child.kill()
        child.join()


def _killed(server: Server, kills: int, say: Say) -> list[Row]:
    at_commits, at_random, chance = Tried(), Tried(), random.Random(kills)
    with _load(server):
        for number in range(kills):
            began = time.monotonic()
            tried = at_random if number % 2 else at_commits
            where = "at random" if number % 2 else POINTS[number // 2 % len(POINTS)]
            _kill(server, None if number % 2 else where, chance)
            missing = server.back()
            tried.kills += 1
            tried.violations += [f"killed {where}: {sentence}" for sentence in missing]
            tried.seconds += time.monotonic() - began
            say(f"kill {number + 1} of {kills}, {where}: {len(missing)} missing")
    lazily = (
        f"{server.lost:,} of {server.lazy:,} lazily written checkpoints lost, none older than {_MOMENT:g} s"
    )
    remark = f"acknowledged: {server.counted()}; {lazily}"
    return [
        _row("database killed at a commit", at_commits, remark),
        _row("database killed under load", at_random, remark),
    ]


def _kill(server: Server, point: str | None, chance: random.Random) -> None:
    """Kill every process of the server: at a fault point of the engine, or once it has been busy for a while."""
    process = server.services.postgres.process
    assert process is not None
    if point is None:
        size = server.notes.stat().st_size if server.notes.exists() else 0
        _wait(lambda: server.notes.exists() and server.notes.stat().st_size > size + 2_000)
        time.sleep(chance.random())
        kill_all(process.pid)
        return
    doomed(server.notes, point, process.pid)


def _continued(server: Server) -> Row:
    """Runs that a kill has cut off are claimed again, stand at their newest checkpoint, and go on from there."""
    tried = Tried()
    time.sleep(_LEASE.total_seconds())
    for run in Run.objects.filter(state="running").order_by("-pk")[:20]:
        kept = sorted(run.checkpoints.values_list("version", flat=True))
        claim = claims.claim(run.ref)
        tried.kills += 1
        if claim is None or kept != list(range(kept[0], run.version + 1)):
            tried.violations.append(f"{run.ref} stands at {run.version} and has the checkpoints {kept}")
            continue
        snap = checkpoints.load(run)
        checkpoints.advance(snap, "triage", {"resumed": True}, [])
        checkpoints.save(claim, snap, sync=True)
        if claim.version != run.version + 1:
            tried.violations.append(f"{run.ref} went on to {claim.version} from {run.version}")
    tried.seconds = time.monotonic() - tried.began
    return _row("runs that a killed database cut off go on", tried, "")


def _control(server: Server, say: Say) -> Row:
    """The same with commits that wait for nothing: there something must be lost, or the check can't see a loss."""
    tried, lost = Tried(), 0
    with _load(server, sync=False):
        while not lost and tried.kills < _MOST_TRIES:
            _kill(server, None, random.Random(tried.kills))
            lost = len(server.back())
            tried.kills += 1
    say(f"control: {lost} acknowledged rows lost at kill {tried.kills} without synchronous commit")
    if not lost:
        tried.violations.append(f"nothing was lost in {tried.kills} kills: the check sees no loss")
    tried.seconds = time.monotonic() - tried.began
    return _row(
        "control: no commit waits for the disk", tried, f"{lost} acknowledged rows lost, as they must be"
    )


def _row(what: str, tried: Tried, remark: str) -> Row:
    again = "manage.py prove --database"
    return Row(what, tried.kills, tuple(tried.violations), tried.seconds, remark, again)


def _wait(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not ready():
        if time.monotonic() > end:
            raise RuntimeError(f"the clients have written nothing for {_PATIENCE:g} seconds")
        time.sleep(0.02)
