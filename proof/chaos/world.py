"""The world that chaos breaks: every part of the product and everything around it, each a real process."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
import redis

from local import keys as secrets
from local import parts as local_parts
from local.process import free_port, kill_group, stop, wait_for
from local.throwaway import ThrowAway
from local.vendor import Vendor
from proof import worker
from proof.stage import Stage, stage

#: Seconds: short, so that a dead worker's runs go on while the next fault is on already.
LEASE = 3.0
WORKERS = ("worker-1", "worker-2", "worker-3")
PARTS = ("web", *WORKERS, "beat", "sweeper")
#: Celery's name for the list in which hints about runs wait.
_QUEUE = "runs"
#: How long the vendor always takes, in seconds: a fault must have something to strike.
SLOW = 0.3
#: Where the vendors are asked to act.
POSTS = ("/v1/refunds", "/stock/reservations")
#: What a process is told that shall believe it to be so many seconds later: each clock that Python code may set one by.
_SKEWED = """
import time
from datetime import timedelta
from django.utils import timezone
_time, _ns, _now, _by = time.time, time.time_ns, timezone.now, {by}
time.time = lambda: _time() + _by
time.time_ns = lambda: _ns() + _by * 10**9
timezone.now = lambda: _now() + timedelta(seconds=_by)
"""


@dataclass
class World:
    """What runs, `parts` of the product. `without` is a guard taken out of the workers, `keys` how the vendor treats
    keys: for the control.
    """

    services: ThrowAway
    on: Stage
    without: str = ""
    keys: str = "honour"
    parts: tuple[str, ...] = PARTS
    port: int = 0
    vendor: Vendor = field(init=False)
    children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    #: Seconds by which the clock of a part is off.
    skews: dict[str, int] = field(default_factory=dict)
    #: Parts that ended without having been struck, in words.
    died: list[str] = field(default_factory=list)
    _vendor_process: subprocess.Popen[bytes] = field(init=False)

    def open(self) -> None:
        """Start everything. Raises RuntimeError where a part does not come up."""
        self.port = free_port()
        self.on.settings |= self.services.settings() | {
            "INTERLOCK_AGENTS": "durable.agents.refund_desk,proof.chaos.agents",
            "INTERLOCK_PUBLIC_URL": self.address,
            "LEASE_SECONDS": str(LEASE),
            "SWEEP_SECONDS": "0.5",
            "STATIC_HASHED": "false",
            "LOG_LEVEL": "WARNING",
        }
        self.start_vendor()
        for name in self.parts:
            self.start(name)

    @property
    def address(self) -> str:
        """Where the pages are."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def mails(self) -> Path:
        """The folder that letters end in."""
        return self.services.folder / "mail"

    # The product's own parts.

    def start(self, name: str, skew: int = 0) -> None:
        """Start a part, its clock `skew` seconds off."""
        more = {}
        if skew:
            folder = self.on.folder / f"skewed{skew}"
            folder.mkdir(exist_ok=True)
            (folder / "sitecustomize.py").write_text(_SKEWED.format(by=skew))
            more["PYTHONPATH"] = str(folder)
            self.skews[name] = skew
        else:
            self.skews.pop(name, None)
        self.children[name] = self.on.start(self._words(name), **more)

    def _words(self, name: str) -> tuple[str, ...]:
        if name in WORKERS:
            if self.without:
                return worker.command("runs", name, without=self.without)
            return local_parts.worker(int(name[-1])).argv
        made = {
            "web": local_parts.web("127.0.0.1", self.port),
            "beat": local_parts.beat(),
            "sweeper": local_parts.sweeper(),
        }
        return made[name].argv

    def kill(self, name: str) -> None:
        """SIGKILL to a part and all that it has forked."""
        child = self._living(name)
        kill_group(child.pid)
        child.wait()
        self.on.children.remove(child)

    def _living(self, name: str) -> subprocess.Popen[bytes]:
        """A part's first process. One that nobody has struck lives, or it is noted that it does not."""
        child = self.children[name]
        if (code := child.poll()) is not None:
            self.died.append(f"{name} ended by itself, with {code}")
        return child

    def end(self, name: str) -> None:
        """SIGTERM, as a deploy does it; what does not end within ten seconds is killed."""
        child = self._living(name)
        stop(child, patience=10)
        self.on.children.remove(child)

    def restart(self, name: str, skew: int = 0) -> None:
        """Kill a part, if it lives, and start it again."""
        self.kill(name)
        self.start(name, skew)

    def pids(self, name: str) -> set[int]:
        """The processes of a part: its first and all that this has forked."""
        try:
            first = psutil.Process(self.children[name].pid)
            return {first.pid, *(child.pid for child in first.children(recursive=True))}
        except psutil.Error:
            return set()

    # What the product stands on.

    def start_vendor(self) -> None:
        """Start the stand-in on its book, at the address that it had before."""
        old = getattr(self, "vendor", None)
        self.vendor = self.on.start_vendor(int(old.url.rpartition(":")[2]) if old else 0)
        self._vendor_process = self.on.children[-1]
        if self.keys != "honour":
            self.vendor.modes(keys=self.keys)
        self.behave()

    def kill_vendor(self) -> None:
        """SIGKILL to the stand-in; its book stays."""
        self._vendor_process.kill()
        self._vendor_process.wait()
        assert self._vendor_process.stdout is not None
        self._vendor_process.stdout.close()
        self.on.children.remove(self._vendor_process)

    def behave(self, *faults: dict[str, Any]) -> None:
        """Let the vendor do these faults and, where none fires, nothing worse than taking its time."""
        self.vendor.clear_faults()
        for rule in faults:
            self.vendor.fault(**rule)
        for path in POSTS:
            self.vendor.fault("slow", method="POST", path=path, seconds=SLOW, times=0)

    def database_family(self) -> list[psutil.Process]:
        """The server and its backends, which lead sessions of their own."""
        assert self.services.postgres.process is not None
        server = psutil.Process(self.services.postgres.process.pid)
        return [server, *server.children(recursive=True)]

    def kill_database(self) -> None:
        """SIGKILL to the server and each of its backends."""
        family = self.database_family()
        for one in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(family, timeout=5)
        assert self.services.postgres.process is not None
        self.services.postgres.process.wait()

    def signal_database(self, number: int) -> None:
        """Send a signal to the server and each of its backends."""
        for one in self.database_family():
            with contextlib.suppress(psutil.NoSuchProcess):
                one.send_signal(number)

    def kill_broker(self) -> None:
        """SIGKILL; its messages are gone, for it keeps them nowhere."""
        assert self.services.broker.process is not None
        kill_group(self.services.broker.process.pid)
        self.services.broker.process.wait()

    def empty_broker(self) -> None:
        """Lose every message."""
        with redis.Redis.from_url(self.services.broker.url()) as client:
            client.flushall()

    def repeat_messages(self, seconds: float = 2.0) -> None:
        """Keep a copy of every message that waits for a worker, for a while; then deliver them all, three times over,
        in any order.
        """
        kept: set[bytes] = set()
        end = time.monotonic() + seconds
        with redis.Redis.from_url(self.services.broker.url()) as client:
            while time.monotonic() < end:
                kept |= set(client.lrange(_QUEUE, 0, -1))
                time.sleep(0.005)
            for message in kept:
                client.rpush(_QUEUE, *[message] * 3)

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of an onlooker. It waits five seconds at most for any answer."""
        url = self.services.postgres.url(secrets.SUPERUSER)
        return psycopg.connect(url, autocommit=True, connect_timeout=5, options="-c statement_timeout=5000")

    # The end.

    def heal(self) -> None:
        """Make everything whole that is not: parts that ended, clocks that are off, a vendor that misbehaves."""
        self.signal_database(signal.SIGCONT)
        self.behave()
        for name, child in self.children.items():
            if child.poll() is not None or name in self.skews:
                self.restart(name)

    def wait_for_web(self) -> None:
        """Wait until the pages answer. Raises RuntimeError after two minutes."""
        from local.browser import Browser

        def ready() -> bool:
            try:
                return Browser(self.address, 5).get("/readyz").status == 200
            except OSError:
                return False

        wait_for(ready, "the web server", alive=lambda: self.children["web"].poll() is None, seconds=120)


@contextlib.contextmanager
def world(*, without: str = "", keys: str = "honour", parts: tuple[str, ...] = PARTS) -> Iterator[World]:
    """A world for the length of a block. Call it from the main thread: everything dies with it."""
    services = ThrowAway.migrated(fsync=True)
    try:
        with stage() as on:
            made = World(services, on, without, keys, parts)
            try:
                made.open()
                yield made
            finally:
                with contextlib.suppress(psutil.Error, AssertionError):
                    made.signal_database(signal.SIGCONT)
    finally:
        services.stop()
