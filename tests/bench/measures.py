"""What is measured: the rows of the table, their units, and what each is held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tests.bench import chaining, costing, exporting, growing, letting, paging, resuming


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

_RESUME = (
    *(Row(f"{length:,} steps", "ms", more=False, goal=3) for length in resuming.LENGTHS),
    Row(f"{resuming.TURNS:,} turns", "ms", more=False, goal=2),
)
_CONVERSATION = (
    Row("stored / raw", "bytes", more=False),
    Row("WAL / raw", "bytes", more=False),
    Row("turn 10", "ms", more=False),
    Row("last turns", "ms", more=False),
    Row("last turns / turn 10", "times", more=False),
)
_DECISIONS = (
    Row("to the step, p50", "ms", more=False),
    Row("to the step, p95", "ms", more=False),
    Row("to the act, p50", "ms", more=False, beside="to the step, p50"),
    Row("to the act, p95", "ms", more=False, beside="to the step, p95"),
    Row("from the click to the step, p50", "ms", more=False, beside="to the step, p50", goal=2.5),
    Row("from the click to the step, p95", "ms", more=False, beside="to the step, p95"),
)
_STARTS = (
    Row("to the first step, p50", "ms", more=False, goal=2),
    Row("to the first step, p95", "ms", more=False),
    Row("started by one client", "runs/s", goal=0.5),
    Row("begun by one worker", "runs/s", goal=0.5),
)
_IDLE = (
    Row("worker", "MiB (PSS)", more=False),
    Row("processor", "% of a core", more=False),
    Row("transactions", "a second", more=False),
    Row("more threads", "", more=False),
    Row("more memory", "MiB (PSS)", more=False),
    Row("more transactions", "a second", more=False),
)
_COST = tuple(
    Row(f"{kind}: {what}", unit, more=False)
    for kind in costing.KINDS
    for names, unit in ((costing.COUNTED, "each"), (costing.BUSY, "ms"))
    for what in names
)
_WORKERS = tuple(Row(f"{children} at once", "steps/s") for children in (1, 2, 4, 8))
_GROWTH = tuple(
    Row(f"{kind}, {what}", unit, more=False)
    for kind in growing.KINDS
    for what, unit in (*((f"{runs:,} ended", "ms") for runs in growing.ENDED), ("most / fewest", "times"))
)
_LARGE = (
    Row("small step before", "ms", more=False),
    Row("small step after", "ms", more=False),
    Row("after / before", "times", more=False),
    Row("reading all", "ms", more=False),
)

_CHAIN = (
    *(
        Row(f"{way}, {what}", unit, more=unit == "events/s")
        for way in chaining.WAYS
        for what, unit in (
            ("no chain", "events/s"),
            ("chained", "events/s"),
            ("no chain / chained", "times"),
        )
    ),
    Row("roots", "s", more=False),
    Row("verify", "s", more=False),
    Row("memory", "MiB", more=False),
)

_EXPORTS = tuple(
    Row(f"{form}, {what}", unit, more=more)
    for form in exporting.FORMS
    for what, unit, more in (
        ("rows", "rows/s", True),
        ("bytes", "MB/s", True),
        ("busy server", "s a million", False),
        ("busy worker", "s a million", False),
        ("memory", "MiB", False),
        ("more memory", "MiB", False),
    )
)

_PRUNING = (
    Row("alone", "ms", more=False),
    Row("beside the pruner", "ms", more=False, beside="alone"),
    Row("beside / alone", "times", more=False),
    Row("most of the pairs", "times", more=False),
    Row("pruned", "checkpoints/s"),
)

_PAGES = (
    *(
        Row(f"{page}, {what}", "" if what == "queries" else "ms", more=False)
        for page in paging.PAGES
        for what in paging.FIGURES
    ),
    Row("open pages", "% of a core", more=False),
    Row("inbox, first paint", "ms", more=False),
)

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "steps": Measure("Runs of 200 small steps", _STEPS),
        "slow-steps": Measure("The same, each flush 1 ms slower", _STEPS, module="steps", flush=1_000),
        "effects": Measure("Effects: intent, HTTP call on loopback, outcome", _EFFECTS),
        "slow-effects": Measure("The same, each flush 1 ms slower", _EFFECTS, module="effects", flush=1_000),
        "resume": Measure(
            "From the call in a fresh process to step N + 1 of a run whose worker was killed", _RESUME
        ),
        "conversation": Measure("A conversation of 200 turns, 3.7 kB each, synchronous", _CONVERSATION),
        "large": Measure(
            "A conversation of 10 MB, with small steps before and after it, synchronous", _LARGE
        ),
        "growth": Measure("The same runs beside ever more ended ones, synchronous", _GROWTH),
        "decisions": Measure(
            "From a person's yes to the step that waits for it, in a Celery worker", _DECISIONS
        ),
        "starts": Measure("From a start to the first step, and 2,000 starts", _STARTS),
        "workers": Measure("16 runs of 200 small steps in one worker of 1, 2, 4 or 8 children", _WORKERS),
        "cost": Measure("What one step, and a step with an effect, make the server do (synchronous)", _COST),
        "chain": Measure(
            f"{chaining.WRITERS} processes that append {chaining.EACH:,} events each; a chain of "
            f"{chaining.LENGTH:,} that gets its roots and is verified",
            _CHAIN,
        ),
        "pages": Measure(
            f"The console on {paging.RUNS:,} runs, {paging.EFFECTS:,} effects and {paging.GATES} gates that wait",
            _PAGES,
        ),
        "exports": Measure(
            f"A file of all {exporting.EFFECTS:,} effects of a ledger, made by one worker", _EXPORTS
        ),
        "pruning": Measure(
            f"Steps beside retention that takes {letting.CHECKPOINTS:,} checkpoints, a hundred to a run",
            _PRUNING,
        ),
        "idle": Measure(
            "A worker that has nothing to do, with beat and sweeper; then 1,000 runs that wait", _IDLE
        ),
    }
)
