"""The engine as its users have it: `runs.start`, then the runner in this process, or real Celery workers."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connection

from durable import runner, runs
from durable.models import Run
from durable.states import Durability, RunState
from proof.stage import Stage, stage

_PATIENCE = 120.0
_PYTHON = (sys.executable, "-W", "ignore::UserWarning:celery.platforms", "-m", "celery", "--quiet")
#: As `docs/operations.md` says how workers are started.
_WORKER = (
    *_PYTHON,
    "-A",
    "durable.celery",
    "worker",
    "-Q",
    "runs,retention",
    "--without-gossip",
    "--without-mingle",
)


def start(agent: str, length: int, durability: Durability = Durability.SYNC) -> Run:
    """Start a run of one of `tests.bench.ours.agents`."""
    return runs.start(agent, {"length": length}, actor="bench", durability=durability)


def drive(agent: str, length: int, durability: Durability = Durability.SYNC) -> Run:
    """Start a run and take it to its end in this process. Returns it completed."""
    run = start(agent, length, durability)
    runner.drive(run.ref)
    run.refresh_from_db()
    if run.state != RunState.COMPLETED:
        raise SystemExit(f"{run.ref} of {agent} is {run.state}: {run.error}")
    return run


@contextmanager
def worker(children: int, warm_up: str = "bench steps") -> Iterator[Stage]:
    """A Celery worker with so many children, each of which has driven a run."""
    with stage() as on:
        on.start((*_WORKER, "-c", str(children), "--loglevel", "WARNING"))
        settle(on, [start(warm_up, 2) for _ in range(children * 4)])
        yield on


def settle(on: Stage, started: Sequence[Run]) -> float:
    """Wait until these runs have completed. Returns the seconds from the first one's start to the last one's end."""
    ids = [run.pk for run in started]
    end = time.monotonic() + _PATIENCE
    while (left := Run.objects.filter(pk__in=ids).exclude(state=RunState.COMPLETED.value).count()) > 0:
        if time.monotonic() > end:
            raise SystemExit(f"{left} runs did not complete\n{on.said()}")
        time.sleep(0.02)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM max(ended_at) - min(created_at)) FROM durable_run WHERE id = ANY(%s)",
            [ids],
        )
        return float(cursor.fetchone()[0])
