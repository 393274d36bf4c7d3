"""From one process to another: how many, and how the time is told."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tests.bench import kit

#: Single ones, one after the other; the first few are not counted.
SINGLE, UNCOUNTED = (10, 2) if kit.QUICK else (105, 5)
#: What waits for a worker at once.
BACKLOG = 20 if kit.QUICK else 2_000
CHILDREN = 2


def spread(name: str, seconds: Sequence[float]) -> kit.Figures:
    """Report the middle and the slow end, in milliseconds."""
    counted = sorted(seconds[UNCOUNTED:])
    return {
        f"{name}, p50": statistics.median(counted) * 1e3,
        f"{name}, p95": counted[int(0.95 * len(counted))] * 1e3,
    }
