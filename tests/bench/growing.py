"""Tables that grow: how far, and how it is told."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tests.bench import kit

#: Ended runs that are there before. BENCH_ENDED names one more number, such as 1000000.
_MORE = [int(number) for number in os.environ.get("BENCH_ENDED", "").split()]
ENDED = (50, 100) if kit.QUICK else (1_000, 100_000, *_MORE)
KINDS = ("step", "effect")


def table(taken: Mapping[int, kit.Figures]) -> kit.Figures:
    """Report milliseconds by the number of ended runs, and how much more the largest number costs."""
    found = {f"{kind}, {runs:,} ended": figures[kind] for runs, figures in taken.items() for kind in KINDS}
    few, many = taken[ENDED[0]], taken[ENDED[-1]]
    return found | {f"{kind}, most / fewest": many[kind] / few[kind] for kind in KINDS}
