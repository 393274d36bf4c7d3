"""A conversation of ten megabytes, with small steps before and after it: how large, and how it is told."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from tests.bench import kit, text

MESSAGES, SIZE = (5, 10_000) if kit.QUICK else (100, 100_000)
#: Small steps before, and after.
SMALL = 10 if kit.QUICK else 50


@cache
def message() -> str:
    """One long message."""
    return text.words(random.Random(5), SIZE)


def figures(before: Sequence[float], after: Sequence[float], reading: float) -> kit.Figures:
    """Report from the moments at which the small steps began, and the seconds that reading everything took."""
    early, late = (statistics.median(b - a for a, b in pairwise(moments)) for moments in (before, after))
    return {
        "small step before": early * 1e3,
        "small step after": late * 1e3,
        "after / before": late / early,
        "reading all": reading * 1e3,
    }
