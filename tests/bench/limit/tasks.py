"""A bare Celery application on the same broker: no engine, the same settings of delivery as ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from celery import Celery

from proof.stage import Stage, stage
from tests.bench import bell, kit

app = Celery("bare", broker=os.environ["CELERY_BROKER_URL"])
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
)
_connections: list[kit.Connection] = []
_PYTHON = (sys.executable, "-W", "ignore::UserWarning:celery.platforms", "-m", "celery", "--quiet")


@app.task(name="bare.ring")
def ring(port: int, word: str) -> None:
    """Begin."""
    bell.ring(port, word)


@app.task(name="bare.go_on")
def go_on(gate: int, port: int, word: str) -> None:
    """Claim what was decided, and begin."""
    if not _connections:
        _connections.append(kit.connect())
    _connections[0].execute("UPDATE gate SET state = 'running' WHERE id = %s AND state = 'decided'", (gate,))
    bell.ring(port, word)


def words(children: int) -> Sequence[str]:
    """Return the words that start a worker."""
    plain = ("--without-gossip", "--without-mingle", "--loglevel", "WARNING")
    return (*_PYTHON, "-A", "tests.bench.limit.tasks", "worker", "-c", str(children), *plain)


@contextmanager
def worker(children: int) -> Iterator[Stage]:
    """A worker that has begun to work."""
    heard = bell.Bell()
    with stage() as on:
        on.start(words(children))
        for each in range(children * 4):
            ring.delay(heard.port, str(each))
        for each in range(children * 4):
            heard.heard(str(each))
        yield on
