"""A conversation of many turns, as each column stores it: what is counted, and how it is reported."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise

from tests.bench import kit, text
from tests.bench.meter import Meter

TURNS = 30 if kit.QUICK else 200
EARLY = 10
_AROUND = 5


def figures(told: Sequence[tuple[str, str]], meter: Meter, begun: Sequence[float]) -> kit.Figures:
    """Report bytes beside those of the conversation itself, and turns early and late.

    `begun` holds the moment at which each turn began, and that at which the last one was over.
    """
    turns = [after - before for before, after in pairwise(begun)]
    kit.done(len(turns), TURNS, "turns")
    size = text.raw(told)
    early, late = _around(turns, EARLY), _around(turns, TURNS - _AROUND)
    return {
        "stored / raw": meter.stored() / size,
        "WAL / raw": meter.wal() / size,
        "turn 10": early * 1e3,
        "last turns": late * 1e3,
        "last turns / turn 10": late / early,
    }


def _around(turns: Sequence[float], place: int) -> float:
    return statistics.median(turns[place - _AROUND : place + _AROUND])
