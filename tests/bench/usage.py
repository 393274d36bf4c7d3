"""What processes use while nothing is to be done: memory, threads, processor, transactions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from tests.bench import kit

#: Seconds: the server adds its counts up at most ten seconds late.
SPAN = 2 if kit.QUICK else 20
_TRANSACTIONS = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
_MIB = 1 << 20


@dataclass(frozen=True)
class Usage:
    """Of some processes and all that they have forked: proportional MiB, threads, percent of a core, and the
    transactions a second of everybody who uses the database.
    """

    memory: float
    threads: int
    cpu: float
    transactions: float


def watch(processes: Sequence[psutil.Process]) -> Usage:
    """Look on for a while."""
    family = [one for first in processes for one in (first, *first.children(recursive=True))]
    connection = kit.connect()
    before, cpu, begin = int(kit.one(connection, _TRANSACTIONS)), _cpu(family), kit.now()
    time.sleep(SPAN)
    seconds = kit.now() - begin
    own = 1  # our own first look
    return Usage(
        sum(one.memory_full_info().pss for one in family) / _MIB,
        sum(one.num_threads() for one in family),
        (_cpu(family) - cpu) / seconds * 100,
        max(0, int(kit.one(connection, _TRANSACTIONS)) - before - own) / seconds,
    )


def _cpu(family: Sequence[psutil.Process]) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in family)
