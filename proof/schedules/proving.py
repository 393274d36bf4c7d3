"""Plays all schedules in drivers side by side, and makes one row of each kind."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import connections

from approvals.people import DEMO_PEOPLE, demo_people
from local.process import spawn
from proof.report import Row, Say
from proof.schedules import workers
from proof.schedules.classes import CLASSES, LEASE
from proof.schedules.controls import CONTROLS
from proof.schedules.plan import WINDING
from proof.stage import ROOT, Stage, stage

#: One a processor; each has a vendor of its own.
DRIVERS = min(max(os.cpu_count() or 2, 2), 8)
#: Vendor classes whose pairs are enumerated in the short form.
SHORT = ("K", "U")
#: Those at which answers get lost in the short form too: each comes out of it in a way of its own.
TROUBLED = ("K", "U", "O")
#: Of each of these errands every ordered pair of points.
PAIRED = ("undone", "gated")
_AGAIN = "python -m proof.schedules --case"
_MOST_TOLD = 20


@dataclass
class Tried:
    """What one row has come to."""

    what: str
    count: int = 0
    violations: list[str] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    points: set[str] = field(default_factory=set)
    deaths: int = 0
    again: str = ""

    def take(self, line: dict[str, Any]) -> None:
        self.count += 1
        self.deaths += len(line["deaths"])
        self.met.update(line["met"])
        self.points.update(line["deaths"])
        for sentence in line["violations"]:
            self.again = self.again or f"{_AGAIN} {line['name']}"
            if len(self.violations) < _MOST_TOLD:
                self.violations.append(f"{line['schedule']}: {sentence}")

    def row(self, seconds: float) -> Row:
        said = [f"{self.deaths:,} deaths at {len(self.points)} points"]
        said += [f"{count:,} x {kind}" for kind, count in sorted(self.met.items())]
        return Row(self.what, self.count, tuple(self.violations), seconds, "; ".join(said), self.again)


def prove(
    say: Say, *, schedules: int = 2_000, seed: int = 1, long: bool = False, points: bool = True
) -> list[Row]:
    """Play every single point, pairs, real workers and controls, and `schedules` random ones of `seed`.

    The environment names the services (`local.throwaway.services`); vendors are started here. `long` takes the pairs
    of all six classes. With `points` false the enumerated ones are left out; with `schedules` 0 the random ones.
    """
    rows: list[Row] = []
    if points:
        rows += [_row(say, f"single crash points, class {cls}", singles(cls, long=long)) for cls in CLASSES]
        for cls in CLASSES if long else SHORT:
            rows.append(_row(say, f"pairs of crashes, class {cls}", [f"pairs:{cls}:{one}" for one in PAIRED]))
        rows += [through_workers(say), controls(say)]
    if schedules:
        rows.append(_row(say, f"random crash schedules, seed {seed}", [f"random:{schedules}:{seed}"]))
    return rows


def singles(cls: str, *, long: bool) -> list[str]:
    """The orders of every single point at a class: of the plain errand, and of the ways out of trouble.

    Those are taken at classes that go them differently, in the long form at all. What people do at a gate does not
    depend on the vendor: at the first class alone.
    """
    orders = [f"points:{cls}:whole"]
    if long or cls in TROUBLED:
        orders += [f"points:{cls}:undone:{turn}" for turn in ("dropped", "lost")]
    if cls == next(iter(CLASSES)):
        orders += [f"points:{cls}:gated:{turn}" for turn in ("refused", "edited", "held")]
        orders += [f"points:{cls}:whole:cancelled", f"points:{cls}:{WINDING}"]
    return orders


def enumerated(*, long: bool) -> list[str]:
    """Return the courses of which every point is played, by the names that they bear without a death."""
    orders = [order for cls in CLASSES for order in singles(cls, long=long)]
    orders += [f"pairs:{cls}:{one}" for cls in (CLASSES if long else SHORT) for one in PAIRED]
    return sorted({order.partition(":")[2].replace(":", "-") for order in orders})


def case(say: Say, name: str) -> Row:
    """Play one schedule by the name that a report gives it."""
    return _row(say, f"schedule {name}", [f"case:{name}"])


def through_workers(say: Say) -> Row:
    """Kill a real Celery worker at each point that it passes on its way to the gate, as a dry run shows them."""
    (dry,) = play(["case:K-whole"], drivers=1)
    row = workers.through(dry["trace"])
    say(f"  {row.what}: {row.tried} in {row.seconds:.0f} s, {len(row.violations)} violations")
    return row


def controls(say: Say) -> Row:
    """Break each guard in turn. A violation is a guard without which nothing was found."""
    began, seen = time.monotonic(), dict.fromkeys(CONTROLS, 0)
    found: dict[str, str] = {}
    for line in play([f"control:{name}" for name in CONTROLS], drivers=1):
        name = line["order"].partition(":")[2]
        seen[name] += 1
        for sentence in line["violations"]:
            if CONTROLS[name].finds in sentence:
                found.setdefault(name, f"{line['schedule']}: {sentence}")
    for name, sentence in found.items():
        say(f"  when {CONTROLS[name].says}: {sentence}")
    missed = tuple(
        f"{CONTROLS[name].says}, and {count} schedules found nothing"
        for name, count in seen.items()
        if name not in found
    )
    remark = f"{sum(seen.values())} schedules"
    again = "python -m proof.schedules --controls"
    return Row(
        "guards of these schedules taken out", len(seen), missed, time.monotonic() - began, remark, again
    )


def _row(say: Say, what: str, orders: Sequence[str]) -> Row:
    began, tried = time.monotonic(), Tried(what)
    for line in play(orders):
        tried.take(line)
    row = tried.row(time.monotonic() - began)
    say(f"  {what}: {row.tried:,} in {row.seconds:.0f} s, {len(row.violations)} violations")
    return row


def play(orders: Sequence[str], drivers: int = DRIVERS) -> Iterator[dict[str, Any]]:
    """Play orders (see `proof.schedules.work`) in drivers side by side; yields what each schedule has come to.

    Raises RuntimeError, with what it said, for a driver that did not end well.
    """
    if User.objects.filter(username__in=[one.username for one in DEMO_PEOPLE]).count() < len(DEMO_PEOPLE):
        demo_people()  # not for each row: it hashes passwords, which nobody asks for here
    connections.close_all()
    with stage(INTERLOCK_AGENTS="proof.schedules.errand", LOG_LEVEL="ERROR", LEASE_SECONDS=str(LEASE)) as on:
        children, said = [_driver(on, part, drivers, orders) for part in range(drivers)], b""
        with selectors.DefaultSelector() as selector:
            for child in children:
                assert child.stdout is not None
                selector.register(child.stdout, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    line = key.fileobj.readline()  # type: ignore[union-attr]  # a pipe, never a bare number
                    if line.startswith(b"{"):
                        yield json.loads(line)
                    elif line:
                        said += line  # what a process that failed has printed
                    else:
                        selector.unregister(key.fileobj)
        for child in children:
            if child.wait() != 0:
                raise RuntimeError(
                    f"a driver of schedules ended with {child.returncode}: {said.decode()[-3_000:]}"
                )


def _driver(on: Stage, part: int, of: int, orders: Sequence[str]) -> subprocess.Popen[bytes]:
    on.start_vendor(book=f"book-{part}")
    words = [sys.executable, "-m", "proof.schedules.driver", str(part), str(of), *orders]
    child = spawn(words, env={**os.environ, **on.settings}, output=subprocess.PIPE, cwd=ROOT)
    on.children.append(child)
    return child
