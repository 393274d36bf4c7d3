"""Start everything in order, keep it up, stop it cleanly: the body of `manage.py up`."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from local import keys, parts
from local.broker import Broker
from local.pipes import Pipes, say
from local.postgres import Postgres
from local.process import clear_leftovers, free_port, kill_group, leave_trace, spawn
from local.readiness import wait_for_pages

#: Seconds that the processes get for a clean end before they are killed; the whole stop stays under five.
PATIENCE = 2.5


class AlreadyRunning(Exception):
    """Another supervisor holds this data folder. The message is for people, address included."""


@dataclass
class Options:
    """What `up` was asked for. `port` is the first to try; `check` runs the check once and stops."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    demo: bool = True
    check: bool = False

    @property
    def near(self) -> str:
        """The host as this machine itself reaches it."""
        return "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host


@dataclass
class Running:
    """A part that is kept up: started again when it ends, more slowly the sooner it ended."""

    part: parts.Part
    child: subprocess.Popen[bytes]
    since: float
    failures: int = 0
    again: float = 0.0


@dataclass
class Supervisor:
    """Everything on one machine. `run` returns the exit code."""

    options: Options
    pipes: Pipes = field(default_factory=Pipes)
    running: list[Running] = field(default_factory=list)
    postgres: Postgres | None = None
    broker: Broker | None = None
    _lock: IO[str] | None = None

    def run(self) -> int:
        """Start, watch until Ctrl-C or SIGTERM (or until the check is over), stop."""
        keys.private_folder(self.options.data)
        self._take_lock()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupt)
        try:
            people = self._start()
            if self.options.check:
                return self._finish(parts.inside("check"))
            self._greet(people)
            while True:
                self._tick()
        except KeyboardInterrupt:
            return 130 if self.options.check else 0
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            say(f"cannot go on: {error}")
            return 1
        finally:
            self._stop()

    def _take_lock(self) -> None:
        """The kernel frees it however this process ends, so a killed one leaves no stale lock."""
        self._lock = (self.options.data / "up.lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            where = "is starting"
            with contextlib.suppress(OSError, ValueError, KeyError):
                found = json.loads((self.options.data / "runtime.json").read_text())
                where = f"runs at {found['INTERLOCK_PUBLIC_URL']}"
            raise AlreadyRunning(f"Interlock already {where}, on the data in {self.options.data}") from None

    def _start(self) -> list[str]:
        """All parts in their order. Returns the lines that say how to sign in."""
        traces = keys.private_folder(self.options.data / "run")
        if survivors := clear_leftovers(traces):
            say(f"an earlier start was killed; ended what it left: {', '.join(survivors)}")
        secrets = keys.load(self.options.data)
        if "DATABASE_URL" not in os.environ:
            say("PostgreSQL")
            self.postgres = Postgres(self.options.data, secrets)
            self.postgres.start()
        if "CELERY_BROKER_URL" not in os.environ:
            say("broker")
            self.broker = Broker(self.options.data, secrets)
            self.broker.start()
            self._trace_broker()
        port = free_port(self.options.port, self.options.host)
        if port != self.options.port:
            say(f"port {self.options.port} is taken: using {port}")
        vendor = free_port()
        self._write_runtime(secrets, port, vendor)
        say("migrations and static files")
        plain = ("--noinput", "--verbosity", "0")
        self._once(("manage.py", "migrate", *plain), ("manage.py", "collectstatic", *plain))
        book = keys.private_folder(self.options.data / "vendor") / "book"
        self._keep(parts.standin(vendor, book))
        demo = self.options.demo and (Path(__file__).parent / "demo.py").exists()
        people = self._once(("-m", "local.inside", "people" if demo else "no-demo")).splitlines()
        self._keep(parts.web(self.options.host, port))
        for part in (parts.worker(1), parts.worker(2), parts.sweeper(), parts.beat()):
            self._keep(part)
        self._wait_for_web(port)
        if demo:
            self._keep(parts.inside("stream"))
        return people

    def _write_runtime(self, secrets: dict[str, str], port: int, vendor: int) -> None:
        """What other commands of this checkout read in place of the environment, which always wins."""
        found = {
            "INTERLOCK_PUBLIC_URL": f"http://{self.options.near}:{port}",
            "SHOP_API_BASE": f"http://127.0.0.1:{vendor}",
        }
        if "STRIPE_API_KEY" not in os.environ:
            found |= {"STRIPE_API_KEY": "sk_test_standin", "STRIPE_API_BASE": f"http://127.0.0.1:{vendor}"}
        if self.postgres:
            found |= {
                "DATABASE_URL": self.postgres.url(),
                "DATABASE_OWNER_URL": self.postgres.url(keys.OWNER),
            }
        if self.broker:
            found["CELERY_BROKER_URL"] = self.broker.url()
        found |= {name: secrets[name] for name in keys.GIVEN}
        keys.write_private(self.options.data / "runtime.json", json.dumps(found, indent=1))

    def _env(self) -> dict[str, str]:
        return dict(os.environ) | {"INTERLOCK_DATA": str(self.options.data), "PYTHONUNBUFFERED": "1"}

    def _spawn(self, argv: tuple[str, ...]) -> subprocess.Popen[bytes]:
        root = Path(__file__).resolve().parent.parent
        return spawn(argv, env=self._env(), output=subprocess.PIPE, cwd=root)

    def _once(self, *commands: tuple[str, ...]) -> str:
        """Commands, side by side, that must succeed before anything else starts. Returns what they print."""
        children = [self._spawn((sys.executable, *words)) for words in commands]
        try:
            texts = [child.communicate(timeout=300)[0].decode(errors="replace") for child in children]
        finally:
            for child in children:
                kill_group(child.pid)
        for words, child, text in zip(commands, children, texts, strict=True):
            if child.returncode:
                raise RuntimeError(f"`{' '.join(words)}` failed:\n{text.strip()}")
        return "".join(texts)

    def _keep(self, part: parts.Part) -> None:
        say(part.name)
        self.running.append(Running(part, self._spawn(part.argv), time.monotonic()))
        self._watch(self.running[-1])

    def _watch(self, running: Running) -> None:
        self.pipes.add(running.part.name, running.child)
        leave_trace(self.options.data / "run", running.part.name, running.child, running.part.mark)

    def _trace_broker(self) -> None:
        if self.broker and self.broker.process:
            leave_trace(self.options.data / "run", "broker", self.broker.process, "valkey-server")

    def _tick(self) -> None:
        """Print what there is to print; bring back what has ended."""
        self.pipes.pump(0.2)
        if self.postgres and self.postgres.process and (code := self.postgres.process.poll()) is not None:
            say(f"PostgreSQL ended ({_how(code)}): starting it again")
            self.postgres.start()
        if self.broker and self.broker.process and (code := self.broker.process.poll()) is not None:
            say(f"the broker ended ({_how(code)}): starting it again")
            self.broker.start()
            self._trace_broker()
        now = time.monotonic()
        for running in self.running:
            self._revive(running, now)

    def _revive(self, running: Running, now: float) -> None:
        code = running.child.poll()
        if code is None:
            return
        if not running.again:
            kill_group(running.child.pid)  # a killed worker's pool would live on without it
            running.failures = running.failures + 1 if now - running.since < 30 else 0
            wait = min(0.2 * 2**running.failures, 15.0)
            running.again = now + wait
            say(f"{running.part.name} ended ({_how(code)}): starting it again in {wait:.1f} s")
        elif now >= running.again:
            running.child, running.since, running.again = self._spawn(running.part.argv), now, 0.0
            self._watch(running)

    def _wait_for_web(self, port: int) -> None:
        web = next(running for running in self.running if running.part.name == "web")
        url = f"http://{self.options.near}:{port}/readyz"
        wait_for_pages(url, alive=lambda: web.child.poll() is None, meanwhile=lambda: self.pipes.pump(0.02))

    def _greet(self, people: list[str]) -> None:
        address = json.loads((self.options.data / "runtime.json").read_text())["INTERLOCK_PUBLIC_URL"]
        lines = ["", f"  Interlock is up: {address}", *(f"  {line}" for line in people)]
        print("\n".join([*lines, "  Ctrl-C stops it all; the data stay.", ""]), flush=True)

    def _finish(self, part: parts.Part) -> int:
        """Run a part to its end, everything else kept up meanwhile. Returns its exit code."""
        child = self._spawn(part.argv)
        self.pipes.add(part.name, child)
        try:
            while child.poll() is None:
                self._tick()
            self.pipes.pump(0.2)
        finally:
            kill_group(child.pid)
        return child.returncode

    def _stop(self) -> None:
        """Everything that works first, all at once; then what it worked on. A second Ctrl-C changes nothing."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        say("stopping")
        for running in self.running:
            if running.child.poll() is None:
                running.child.terminate()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and any(running.child.poll() is None for running in self.running):
            self.pipes.pump(0.05)
        for running in self.running:
            kill_group(running.child.pid)
            running.child.wait()
        for service in (self.broker, self.postgres):
            if service:
                service.stop()
        for name in (
            "runtime.json",
            *(f"run/{file.name}" for file in (self.options.data / "run").glob("*.json")),
        ):
            (self.options.data / name).unlink(missing_ok=True)
        say("stopped; the data stay")


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _how(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
