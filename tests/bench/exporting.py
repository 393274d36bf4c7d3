"""Exports: how many rows are taken out of the ledger, and in which forms."""

from __future__ import annotations

import os

from tests.bench import kit

#: Effects of the database; BENCH_EXPORTED=1000000 is what the figures are stated for.
EFFECTS = int(os.environ.get("BENCH_EXPORTED", "500" if kit.QUICK else "100000"))
FORMS = ("csv", "jsonl")
