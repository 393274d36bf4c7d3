"""Whole runs of small steps, from start to end: lease, fence, plan, budget, state and checkpoint included."""

from __future__ import annotations

from durable.models import Checkpoint
from durable.states import Durability
from tests.bench import kit
from tests.bench.kit import SIZES
from tests.bench.ours import engine, workers

AGENT = "bench steps"
#: Children of the worker that drives many runs: the measure `workers` shows what others do.
CHILDREN = 8


def measure() -> kit.Figures:
    """Steps a second of one run after another, waiting for the disk or not, and of several runs in a worker."""
    return {
        "one run": _alone(Durability.SYNC),
        "one run, async": _alone(Durability.ASYNC),
        "many runs": workers.rate(CHILDREN),
    }


def _alone(mode: Durability) -> float:
    engine.drive(AGENT, SIZES.steps, mode)
    before = Checkpoint.objects.count()
    begin = kit.now()
    for _ in range(SIZES.runs):
        engine.drive(AGENT, SIZES.steps, mode)
    seconds = kit.now() - begin
    # Each run has a checkpoint for its start and for each step.
    kit.done(Checkpoint.objects.count() - before, SIZES.runs * (SIZES.steps + 1), "checkpoints")
    return kit.rate(SIZES.runs * SIZES.steps, seconds)
