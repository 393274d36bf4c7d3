"""Tables that grow: how far, and how it is told."""

from __future__ import annotations

import os
import statistics
from collections.abc import Mapping, Sequence

from tests.bench import kit

#: Ended runs that are there before. BENCH_ENDED names more numbers, such as 1000000.
_MORE = [int(number) for number in os.environ.get("BENCH_ENDED", "").split()]
ENDED = (50, 100) if kit.QUICK else (1_000, 100_000, *_MORE)
TURNS = 1 if kit.QUICK else 5
KINDS = ("step", "effect")


def table(turns: Sequence[Mapping[int, kit.Figures]]) -> kit.Figures:
    """Report milliseconds by the number of ended runs, and how much more the largest number costs."""
    taken = {
        (kind, runs): statistics.median(turn[runs][kind] for turn in turns)
        for runs in ENDED
        for kind in KINDS
    }
    found = {f"{kind}, {runs:,} ended": value for (kind, runs), value in taken.items()}
    few, many = ENDED[0], ENDED[-1]
    return found | {f"{kind}, most / fewest": taken[kind, many] / taken[kind, few] for kind in KINDS}
