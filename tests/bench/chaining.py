"""The chain of events: how many writers append how much, and how long a ledger is verified."""

from __future__ import annotations

from tests.bench import kit

WRITERS = 2 if kit.QUICK else 8
#: Events of one writer.
EACH = 20 if kit.QUICK else 1_000
#: Events of the one chain that is verified.
LENGTH = 2_000 if kit.QUICK else 1_000_000
#: How a writer appends: as the engine does it, or by the bare statement.
WAYS = ("engine", "statement")
