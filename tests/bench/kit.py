"""What the processes of all columns share. Standard library and psycopg alone: peers have environments of their own.

Moments are seconds of the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import Any

import psycopg

now = time.monotonic

Connection = psycopg.Connection[tuple[Any, ...]]

#: What one process measured: figures by name, in the units that `tests.bench.measures` names.
Figures = dict[str, float]


@dataclass(frozen=True)
class Sizes:
    """How much is done in one repetition."""

    steps: int = 200  # of a run
    runs: int = 5  # one after the other
    wide: int = 16  # at once
    effects: int = 300


QUICK = bool(os.environ.get("BENCH_QUICK"))
SIZES = Sizes(steps=20, runs=1, wide=2, effects=10) if QUICK else Sizes()


def connect() -> Connection:
    """A connection of the superuser to this cell's own database, which commits each statement by itself."""
    return psycopg.connect(os.environ["BENCH_DATABASE"], autocommit=True)


def one(connection: Connection, query: str, *values: object) -> Any:
    """Return the first column of the one row that a query finds."""
    row = connection.execute(query.encode(), values or None).fetchone()
    assert row is not None, query
    return row[0]


def rate(count: int, seconds: float) -> float:
    """Return how many a second."""
    return count / seconds


def timed(act: Callable[[], object]) -> float:
    """Return how many seconds something took."""
    begin = now()
    act()
    return now() - begin


def quiet() -> None:
    """Let pass what lags behind work that is done: the server's counts, and a worker's last words to the broker."""
    time.sleep(1 if QUICK else 11)


def at_once(acts: Iterable[Callable[[], object]]) -> float:
    """Do all of them from one barrier on, each in a thread; return the seconds until the last one was through."""
    waiting = list(acts)
    line = Barrier(len(waiting) + 1)

    def do(act: Callable[[], object]) -> object:
        line.wait()
        return act()

    with ThreadPoolExecutor(len(waiting)) as pool:
        doing = [pool.submit(do, act) for act in waiting]
        line.wait()
        begin = now()
        for each in doing:
            each.result()
        return now() - begin


def done(found: int, wanted: int, what: str) -> None:
    """Refuse to report a figure about work that is not in the database."""
    if found != wanted:
        raise SystemExit(f"{what}: {found} are there where {wanted} should be; nothing is reported")


class Vendor:
    """One kept connection to the tiny vendor, which answers a POST with what it was asked."""

    def __init__(self) -> None:
        self._http = http.client.HTTPConnection(os.environ["BENCH_VENDOR"])
        self._http.connect()
        self._http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def pay(self, key: str, amount: str = "0.10", currency: str = "EUR") -> dict[str, Any]:
        """Move money under a key; returns the vendor's receipt."""
        body = json.dumps({"amount": amount, "currency": currency})
        self._http.request("POST", "/payments", body, {"Idempotency-Key": key})
        answer: dict[str, Any] = json.loads(self._http.getresponse().read())
        return answer


def phase(module: str, function: str, *words: object) -> Figures | None:
    """Call a function of a module in a process of its own; return what it reported, None where it died on purpose."""
    argv = [sys.executable, "-m", "tests.bench.cell", module, function, *map(str, words)]
    ended = subprocess.run(argv, stdout=subprocess.PIPE, timeout=PATIENCE, check=False)
    for line in ended.stdout.decode().splitlines():
        if line.startswith("RESULT "):
            found: Figures = json.loads(line.removeprefix("RESULT "))
            return found
    if ended.returncode not in (0, DIED):
        raise SystemExit(f"{module}.{function} ended with {ended.returncode}")
    return None


#: Seconds that a phase may take; a hundred runs a second are filled in at least.
PATIENCE = 900 + int(os.environ.get("BENCH_RUNS", "0")) / 100
#: How a process ends that dies on purpose.
DIED = 9


def report(figures: Figures) -> None:
    """Tell the process that waits for them."""
    print("RESULT " + json.dumps(figures), flush=True)
