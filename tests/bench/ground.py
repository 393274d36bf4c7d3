"""What all columns stand on: a PostgreSQL that waits for its disk, a broker, a vendor, a fresh database a cell."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psycopg
import redis
from psycopg import sql

from local.keys import SUPERUSER
from local.postgres import DATABASE, create_database
from local.process import spawn, stop
from local.throwaway import ThrowAway

ROOT = Path(__file__).resolve().parents[2]
AGENTS = "tests.bench.ours.agents"
#: Longer than any cell takes; a hundred runs a second are filled in at least.
_PATIENCE = 1_800.0 + int(os.environ.get("BENCH_RUNS", "0")) / 100
_LIBRARIES = ("django", "celery", "psycopg")


@dataclass
class Ground:
    """The running services. Every cell is a process on a database of its own, which is dropped afterwards."""

    services: ThrowAway
    vendor: str
    admin: psycopg.Connection[tuple[object, ...]]

    def cell(self, python: Path, column: str, module: str, *, flush: int = 0) -> dict[str, float]:
        """Measure one cell with that column's Python; `flush` is by how many microseconds each flush is slower."""
        name = "bench"
        self._slow(flush)
        self.admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        create_database(self.admin, name, template=DATABASE if column == "ours" else "template0")
        self.admin.execute(
            "CHECKPOINT"
        )  # none falls due while it is measured, and every column begins after one
        with redis.Redis.from_url(self.services.broker.url()) as broker:
            broker.flushall()
        assert self.services.postgres.process is not None
        settings = {
            **self.services.settings(database=name),
            "BENCH_DATABASE": self.services.postgres.url(SUPERUSER, name),
            "BENCH_VENDOR": self.vendor,
            "BENCH_SERVER": str(self.services.postgres.process.pid),
            "BENCH_LOG": str(self.services.postgres.home / "log"),
            "INTERLOCK_AGENTS": AGENTS,
            "LOG_LEVEL": "ERROR",
        }
        words = [str(python), "-m", "tests.bench.cell", f"{column}.{module}", "measure"]
        return _reported(words, {**os.environ, **settings})

    def _slow(self, flush: int) -> None:
        self.admin.execute(sql.SQL("ALTER SYSTEM SET commit_delay = {}").format(sql.Literal(flush)))
        self.admin.execute(
            sql.SQL("ALTER SYSTEM SET commit_siblings = {}").format(sql.Literal(0 if flush else 5))
        )
        self.admin.execute("SELECT pg_reload_conf()")

    def flush_time(self) -> float:
        """Milliseconds in which the disk below the database makes 8 kB durable; the median of many."""
        took = []
        with tempfile.NamedTemporaryFile(dir=self.services.folder) as file:
            for _ in range(300):
                os.pwrite(file.fileno(), os.urandom(8_192), 0)
                begin = time.perf_counter()
                os.fdatasync(file.fileno())
                took.append(time.perf_counter() - begin)
        return statistics.median(took) * 1e3

    def facts(self) -> str:
        """Say on what the figures were made, and no more of the machine than they need."""
        (server,) = self.admin.execute("SHOW server_version").fetchone() or ("?",)
        names = [f"{name} {metadata.version(name)}" for name in _LIBRARIES]
        return ", ".join(
            [
                f"{os.cpu_count()} cores",
                f"Python {platform.python_version()}",
                f"PostgreSQL {str(server).split()[0]} (fsync on, a flush of 8 kB takes {self.flush_time():.2f} ms)",
                *names,
            ]
        )


def _reported(words: Sequence[str], env: dict[str, str]) -> dict[str, float]:
    child = spawn(words, env=env, output=subprocess.PIPE, cwd=ROOT)
    text, _ = child.communicate(timeout=_PATIENCE)
    lines = text.decode(errors="replace").splitlines()
    for line in lines:
        if line.startswith("RESULT ") and child.returncode == 0:
            found: dict[str, float] = json.loads(line.removeprefix("RESULT "))
            return found
    raise RuntimeError(f"{' '.join(words[2:])} reported nothing:\n" + "\n".join(lines[-30:]))


@contextmanager
def ground() -> Iterator[Ground]:
    """Start everything, the engine's tables made once to be copied, and stop it afterwards."""
    services = ThrowAway.migrated(fsync=True)
    vendor = spawn((sys.executable, "-m", "tests.bench.vendor"), output=subprocess.PIPE, cwd=ROOT)
    try:
        assert vendor.stdout is not None
        address = vendor.stdout.readline().decode().strip()
        with psycopg.connect(services.postgres.url(SUPERUSER, "postgres"), autocommit=True) as admin:
            yield Ground(services, address, admin)
    finally:
        stop(vendor)
        services.stop()
