"""A worker of one child, beat and sweeper that have nothing to do, then the same with runs that wait for a day."""

from __future__ import annotations

import psutil

from durable.states import RunState
from local import parts
from proof.stage import stage
from tests.bench import kit, usage
from tests.bench.ours import engine

WAITING = 10 if kit.QUICK else 1_000
_AGENT = "bench sleeping"


def measure() -> kit.Figures:
    """What they use, and by how much more once runs wait."""
    with stage() as on:
        worker = engine.start_worker(on, 1)
        beside = [psutil.Process(on.start(part.argv).pid) for part in (parts.beat(), parts.sweeper())]
        # As many runs as will wait, so that what Python keeps for driving them is there already.
        engine.settle(on, [engine.start("bench steps", 1) for _ in range(WAITING)])
        kit.quiet()
        alone, everybody = usage.watch([worker]), usage.watch([worker, *beside])
        engine.settle(on, [engine.start(_AGENT, 24) for _ in range(WAITING)], RunState.SUSPENDED)
        kit.quiet()
        waiting = usage.watch([worker, *beside])
    return {
        "worker": alone.memory,
        "processor": everybody.cpu,
        "transactions": everybody.transactions,
        "more threads": waiting.threads - everybody.threads,
        "more memory": waiting.memory - everybody.memory,
        "more transactions": waiting.transactions - everybody.transactions,
    }
