"""What processes use while nothing is to be done: memory, threads, processor, transactions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
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
    """Look on for a while. A child that comes or goes meanwhile counts as far as it can be seen."""
    connection = kit.connect()
    before, cpu, begin = int(kit.one(connection, _TRANSACTIONS)), _cpu(processes), kit.now()
    time.sleep(SPAN)
    seconds = kit.now() - begin
    own = 1  # our own first look
    transactions = (int(kit.one(connection, _TRANSACTIONS)) - before - own) / seconds
    memory, threads = 0, 0
    for process in _family(processes):
        with suppress(psutil.NoSuchProcess):
            memory += process.memory_full_info().pss
            threads += process.num_threads()
    return Usage(memory / _MIB, threads, (_cpu(processes) - cpu) / seconds * 100, max(0.0, transactions))


def _family(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    return [one for first in processes for one in (first, *first.children(recursive=True))]


def _cpu(processes: Sequence[psutil.Process]) -> float:
    """Seconds of processor time so far, of children that have ended as well."""
    seconds = 0.0
    for process in _family(processes):
        with suppress(psutil.NoSuchProcess):
            seconds += sum(process.cpu_times()[:4])  # own, and that of children that were waited for
    return seconds
