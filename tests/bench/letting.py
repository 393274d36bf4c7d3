"""What retention takes while runs are driven: how much there is to prune, and how it is told."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence

from tests.bench import kit

#: Checkpoints that may go, so many to a run. BENCH_CHECKPOINTS=1000000 is what the figure is stated for.
CHECKPOINTS = int(os.environ.get("BENCH_CHECKPOINTS", "2000" if kit.QUICK else "100000"))
EACH = 100
#: Runs alone and beside the pruner take turns, so often.
PAIRS = 1 if kit.QUICK else 7


def table(pairs: Sequence[tuple[float, float]], pruned: float) -> kit.Figures:
    """Report milliseconds a step of both kinds, their ratio pair by pair, and checkpoints pruned a second."""
    return {
        "alone": statistics.median(alone for alone, _ in pairs),
        "beside the pruner": statistics.median(beside for _, beside in pairs),
        "beside / alone": statistics.median(beside / alone for alone, beside in pairs),
        "most of the pairs": max(beside / alone for alone, beside in pairs),
        "pruned": pruned,
    }
