"""Many runs in one Celery worker of ever more children."""

from __future__ import annotations

from tests.bench import kit
from tests.bench.kit import SIZES
from tests.bench.ours import engine

CHILDREN = (1, 2) if kit.QUICK else (1, 2, 4, 8)


def measure() -> kit.Figures:
    """Steps a second, by children."""
    return {f"{children} at once": rate(children) for children in CHILDREN}


def rate(children: int) -> float:
    """Steps a second of all runs together, from the first one's start to the last one's end."""
    with engine.worker(children) as on:
        seconds = engine.settle(on, [engine.start("bench steps", SIZES.steps) for _ in range(SIZES.wide)])
    return kit.rate(SIZES.wide * SIZES.steps, seconds)
