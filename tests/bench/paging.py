"""The console's pages: which are asked, how often, and on how large a database."""

from __future__ import annotations

import os

from tests.bench import kit

#: Runs of the database; five effects to a run, and some gates. BENCH_RUNS=1000000 is what the figures are stated for.
RUNS = int(os.environ.get("BENCH_RUNS", "100" if kit.QUICK else "5000"))
EFFECTS, GATES = RUNS * 5, min(200, RUNS // 10)
#: Each page so often, and so many runs, gates and effects that take turns as the one that is looked at.
TIMES, OBJECTS = (3, 2) if kit.QUICK else (40, 20)
#: Live pages that stand open, for so many seconds.
OPEN, SECONDS = (5, 4) if kit.QUICK else (50, 60)

#: Lists by what is asked of them, and the pages of single objects.
PAGES = (
    "home",
    "inbox",
    "runs",
    "runs, suspended",
    "runs, second page",
    "ledger",
    "ledger, in doubt",
    "ledger, by order",
    "doubts",
    "compensation",
    "tools",
    "run",
    "gate",
    "effect",
)
FIGURES = ("p50", "p95", "queries")
