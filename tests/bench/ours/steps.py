"""Whole runs of small steps, from start to end: lease, fence, plan, budget, state and checkpoint included."""

from __future__ import annotations

from functools import partial

from durable.models import Checkpoint
from durable.states import Durability
from tests.bench import kit
from tests.bench.kit import SIZES
from tests.bench.ours import engine

AGENT = "bench steps"
#: Children of a worker on the machines that we know: fewer leave a core idle while the disk is waited for.
CHILDREN = (2, 4, 8)


def measure() -> kit.Figures:
    """Steps a second of one run after another, waiting for the disk or not, and of several runs in a worker."""
    found: kit.Figures = {}
    for name, mode in (("one run", Durability.SYNC), ("one run, async", Durability.ASYNC)):
        engine.drive(AGENT, SIZES.steps, mode)
        before = Checkpoint.objects.count()
        seconds = kit.timed(partial(_alone, mode))
        # Each run has a checkpoint for its start and for each step.
        kit.done(Checkpoint.objects.count() - before, SIZES.runs * (SIZES.steps + 1), "checkpoints")
        found[name] = kit.rate(SIZES.runs * SIZES.steps, seconds)
    rates = [_many(children) for children in CHILDREN]
    return found | {"many runs": max(rates)}


def _alone(mode: Durability) -> None:
    for _ in range(SIZES.runs):
        engine.drive(AGENT, SIZES.steps, mode)


def _many(children: int) -> float:
    with engine.worker(children) as on:
        seconds = engine.settle(on, [engine.start(AGENT, SIZES.steps) for _ in range(SIZES.wide)])
    return kit.rate(SIZES.wide * SIZES.steps, seconds)
