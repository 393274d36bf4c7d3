"""What is measured: the rows of the table, their units, and what each is held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Row:
    """One figure. Its ratio is to the column `limit`, there to the figure `beside` where that has another name.

    `more` says that a larger figure is the better one. `goal` is the ratio that we want to reach.
    """

    figure: str
    unit: str
    more: bool = True
    beside: str = ""
    goal: float | None = None


@dataclass(frozen=True)
class Measure:
    """Rows that one process of each column measures together; the module of that name in each column's folder.

    `module` is another module's name where the same work is done on another server: `flush` makes each flush that
    many microseconds slower, as on a network disk.
    """

    title: str
    rows: tuple[Row, ...]
    module: str = ""
    flush: int = 0


_STEPS = (
    Row("one run", "steps/s", goal=0.55),
    Row("many runs", "steps/s", goal=0.45),
    Row("one run, async", "steps/s", beside="one run", goal=1.2),
)
_EFFECTS = (
    Row("a step each", "effects/s", goal=0.6),
    Row("in one step", "effects/s", goal=0.6),
    Row("call alone", "ms", more=False),
)

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "steps": Measure("Runs of 200 small steps", _STEPS),
        "slow-steps": Measure("The same, each flush 1 ms slower", _STEPS, module="steps", flush=1_000),
        "effects": Measure("Effects: intent, HTTP call on loopback, outcome", _EFFECTS),
        "slow-effects": Measure("The same, each flush 1 ms slower", _EFFECTS, module="effects", flush=1_000),
    }
)
