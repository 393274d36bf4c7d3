"""Resuming in a fresh process, as each column does it: which lengths, how often, and from when on is counted."""

from __future__ import annotations

import statistics

from tests.bench import kit

LENGTHS = (10, 100) if kit.QUICK else (10, 100, 1_000, 5_000)
TURNS = 20 if kit.QUICK else 1_000
_TIMES = 1 if kit.QUICK else 5


def since(begin: float) -> kit.Figures:
    """Report the milliseconds since resuming was asked for: libraries are loaded by then, nothing is connected."""
    return {"ms": (kit.now() - begin) * 1e3}


def table(module: str) -> kit.Figures:
    """Resume each run some times, each time in a process of its own; the median counts."""
    found = {f"{length:,} steps": _median(module, "steps", length) for length in LENGTHS}
    return found | {f"{TURNS:,} turns": _median(module, "conversation", TURNS)}


def _median(module: str, function: str, length: int) -> float:
    taken = [kit.phase(module, function, length) for _ in range(_TIMES)]
    return statistics.median(each["ms"] for each in taken if each is not None)
