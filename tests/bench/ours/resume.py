"""A worker is killed in step N + 1; a fresh process claims the run, loads its checkpoint and begins that step again.

The dead worker's lease is not waited out: it is a setting, and no work.
"""

from __future__ import annotations

import os

from durable import plan, runner
from durable.models import Run
from durable.states import Durability
from tests.bench import kit, resuming
from tests.bench.ours import engine

AGENT = "bench resumed"


def measure() -> kit.Figures:
    """Milliseconds from the call of the runner to step N + 1."""
    for length in resuming.LENGTHS:
        kit.phase("ours.resume", "begin", length, 0)
    kit.phase("ours.resume", "begin", resuming.TURNS, 1)
    return resuming.table("ours.resume")


def begin(length: str, speaking: str) -> None:
    """Drive a run until it dies in its last step."""
    os.environ["BENCH_LAST"] = length
    engine.drive(AGENT, int(length) + 1, Durability.ASYNC, speaks=bool(int(speaking)))


def steps(length: str) -> None:
    """Go on with a run of so many steps; the step itself reports, and dies again."""
    _resume(int(length), speaks=False)


def conversation(turns: str) -> None:
    """Go on with a run of so many turns, whose step reads all that was said."""
    _resume(int(turns), speaks=True)


def _resume(length: int, *, speaks: bool) -> None:
    """Everything but the lease is as the dead process left it."""
    connection = kit.connect()
    query = (
        "UPDATE durable_run SET lease_until = clock_timestamp() WHERE input->>'length' = %s AND input->>'speaks' = %s"
        " RETURNING ref"
    )
    ref = kit.one(connection, query, str(length + 1), str(speaks).lower())
    connection.close()
    plan.agents()
    os.environ.update(BENCH_LAST=str(length), BENCH_BEGIN=repr(kit.now()))
    runner.drive(ref)
    raise SystemExit(f"{ref} is {Run.objects.get(ref=ref).state}: its step did not begin")
