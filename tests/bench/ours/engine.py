"""The engine as its users have it: `runs.start`, then the runner in this process, or real Celery workers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psutil
from django.db import connection

from durable import runner, runs
from durable.models import Run
from durable.states import Durability, RunState
from local import parts
from proof.stage import Stage, stage

_PATIENCE = 180.0


def start(agent: str, length: int, durability: Durability = Durability.SYNC, **more: Any) -> Run:
    """Start a run of one of `tests.bench.ours.agents`, which is `length` long."""
    return runs.start(agent, {"length": length, **more}, actor="bench", durability=durability)


def drive(agent: str, length: int, durability: Durability = Durability.SYNC, **more: Any) -> Run:
    """Start a run and take it to its end in this process. Returns it completed."""
    return finish(start(agent, length, durability, **more))


def finish(run: Run) -> Run:
    """Take a run to its end in this process."""
    runner.drive(run.ref)
    run.refresh_from_db()
    if run.state != RunState.COMPLETED:
        raise SystemExit(f"{run.ref} of {run.agent} is {run.state}: {run.error}")
    return run


@contextmanager
def worker(children: int) -> Iterator[Stage]:
    """A Celery worker with so many children, each of which has driven a run."""
    with stage() as on:
        start_worker(on, children)
        yield on


def words(children: int) -> Sequence[str]:
    """Return the words that start a Celery worker, as the supervisor starts one, but with so many children."""
    argv = list(parts.worker(1).argv)
    argv[argv.index("-c") + 1] = str(children)
    return argv


def start_worker(on: Stage, children: int) -> psutil.Process:
    """Start a Celery worker, and wait until its children have driven some runs."""
    child = on.start(words(children))
    settle(on, [start("bench steps", 2) for _ in range(children * 4)])
    return psutil.Process(child.pid)


def settle(on: Stage, started: Sequence[Run], state: RunState = RunState.COMPLETED) -> float:
    """Wait until these runs have come to a state. Returns the seconds from the first one's start to the last change."""
    ids = [run.pk for run in started]
    end = time.monotonic() + _PATIENCE
    while (left := Run.objects.filter(pk__in=ids).exclude(state=state.value).count()) > 0:
        if time.monotonic() > end:
            raise SystemExit(f"{left} runs did not come to be {state.value}\n{on.said()}")
        time.sleep(0.02)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM max(changed_at) - min(created_at)) FROM durable_run WHERE id = ANY(%s)",
            [ids],
        )
        return float(cursor.fetchone()[0])
