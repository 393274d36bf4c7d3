"""`manage.py sweep`: find what no message announced; with `--forever`, for as long as it lives.

Afterwards it keeps the index that auditors search by up with the ledger.

It needs no broker. Due runs that no worker hears of it takes itself, because the broker is away, has lost a message, or
has workers that still wait before they connect again; each in a process of its own, so that a step that hangs or kills
its process stops nothing else. Two of them at once do no harm. Told to end, it waits until these have handed their
runs back.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import Error, connections

from durable import draining, indexing, plan, recovery, runner
from durable.errors import UnknownAgent

log = logging.getLogger(__name__)

#: Runs that are driven here at a time, in place of the workers that no message reaches.
AT_ONCE = 4
#: Seconds between two looks at the children while runs wait for a free place.
_GLANCE = 0.1


class Command(BaseCommand):
    help = "Find due runs, waits that are over, expired leases and effects in doubt, and see that they go on."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--forever", action="store_true", help="sweep every SWEEP_SECONDS until stopped")

    def handle(self, *args: Any, **options: Any) -> None:
        """Sweep once and print what was found, or for ever until SIGTERM or Ctrl-C."""
        if options["forever"]:
            over = threading.Event()
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: _end(over))
            forever(over)
            return
        for kind, count in recovery.sweep().items():
            self.stdout.write(f"{kind}: {count}")
        indexing.catch_up()


def _end(over: threading.Event) -> None:
    draining.begin()
    over.set()


def forever(over: threading.Event) -> None:
    """Sweep until `over` is set. A database that is away is waited for."""
    with suppress(UnknownAgent):
        plan.agents()  # a broken module is logged here, and by none of the children that are forked from here
    stand_in = StandIn()
    pause = settings.SWEEP_SECONDS.total_seconds()
    while not over.is_set():
        try:
            recovery.sweep(otherwise=stand_in.take)
            indexing.catch_up()
        except Error as error:
            log.warning("sweep: the database is away: %s", type(error).__name__)
            connections.close_all()
        end = time.monotonic() + pause
        while (left := end - time.monotonic()) > 0:
            stand_in.work()
            if over.wait(min(left, _GLANCE) if stand_in.waiting else left):
                break
    stand_in.finish()


@dataclass(frozen=True, slots=True)
class Child:
    """A process that drives one run, since a moment of the monotonic clock."""

    run_ref: str
    process: BaseProcess
    since: float


class StandIn:
    """Drives runs in the workers' place, a few at a time, each in a forked process."""

    def __init__(self) -> None:
        self.waiting: deque[str] = deque()
        self.running: list[Child] = []

    def take(self, run_ref: str) -> None:
        """Put a run in line. One that is no longer due when its turn comes claims nothing.

        Who has been at it here for a lease has lost it, and hangs: one such run would take up all places, one after
        the other.
        """
        lost = time.monotonic() - settings.LEASE_SECONDS.total_seconds()
        for child in self.running:
            if child.run_ref == run_ref and child.since < lost and child.process.is_alive():
                log.error("the process that drives %s hangs; it is killed", run_ref)
                child.process.kill()
        if run_ref not in self.waiting:
            self.waiting.append(run_ref)

    def work(self) -> None:
        """Start what there is room for, and forget what has ended."""
        self.running = [child for child in self.running if child.process.is_alive()]
        while self.waiting and len(self.running) < AT_ONCE:
            connections.close_all()  # a connection must not be shared with a child
            run_ref = self.waiting.popleft()
            process = multiprocessing.get_context("fork").Process(target=_drive, args=(run_ref,), daemon=True)
            process.start()
            self.running.append(Child(run_ref, process, time.monotonic()))

    def finish(self) -> None:
        """Wait for those that are at work; no more are started."""
        for child in self.running:
            child.process.join()


def _drive(run_ref: str) -> None:
    """In the child: Ctrl-C is for the sweeper, which passes the word on; a SIGTERM to the group comes here as well."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with draining.heeding():
        runner.drive(run_ref)
