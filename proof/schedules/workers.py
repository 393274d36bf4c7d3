"""The same errand through real Celery workers: one dies at each point that a worker passes, others finish.

No clock is moved here: a lease of one second runs out, the real sweeper finds what no message announced.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence

from durable import runs
from durable.celery import app
from durable.models import Run, Wait
from durable.states import RunState, WaitKind, WaitState
from durable.wakeup import DRIVE
from local.vendor import Vendor
from proof import nursery, worker
from proof.report import Row
from proof.schedules import errand, oracle, person
from proof.schedules.notes import Notes, Pen
from proof.schedules.plan import at
from proof.stage import SWEEPER, Stage, stage

_PATIENCE = 120.0
_LAST = "suspend.after_commit"
#: One death each, so that its tokens may be counted twice.
_SCHEDULE = at("K", "whole", 1)


class Errand:
    """One run, its names at the vendor, and what its reviewer has let out."""

    def __init__(self, vendor: Vendor, point: str) -> None:
        self.point, self.notes = point, Notes()
        self.notes.names = {"order": point, **{name: vendor.charge("200.00", "EUR") for name in _CHARGES}}
        asked = {"trade": "long", "more": True, **self.notes.names}
        self.run = runs.start(errand.Errands.name, asked, actor="a customer")

    def state(self) -> str:
        self.run = Run.objects.get(pk=self.run.pk)
        return self.run.state

    def wrong(self, vendor: Vendor) -> list[str]:
        book = [one for one in vendor.book() if one["target"] in self.notes.names.values()]
        return oracle.violations(_SCHEDULE, self.notes, self.run, book)


_CHARGES = ("first", "second", "first_back")


def points(trace: Sequence[str]) -> list[str]:
    """Return the points of a dry run that its first worker passes, each as NAME:HIT, in order."""
    hits: Counter[str] = Counter()
    found = []
    for name in trace[: trace.index(_LAST) + 1]:
        hits[name] += 1
        if not name.startswith("start."):
            found.append(f"{name}:{hits[name]}")
    return found


def through(trace: Sequence[str]) -> Row:
    """Kill a worker at each point of the dry run `trace`, let others finish, and hold the book against all."""
    began = time.monotonic()
    settings = {"LEASE_SECONDS": "1", "SWEEP_SECONDS": "0.2", "LOG_LEVEL": "ERROR"}
    with stage(INTERLOCK_AGENTS="proof.schedules.errand", **settings) as on:
        vendor = on.start_vendor()
        errands = [Errand(vendor, point) for point in points(trace)]
        wrong = [*_kill_at_each(on, errands), *_finish(on, errands)]
        for one in errands:
            wrong += [f"worker killed at {one.point}: {sentence}" for sentence in one.wrong(vendor)]
    return Row(
        "real Celery workers, killed at each point",
        len(errands),
        tuple(wrong),
        time.monotonic() - began,
        f"{len(errands)} workers",
        "python -m proof.schedules --workers",
    )


def _kill_at_each(on: Stage, errands: Sequence[Errand]) -> list[str]:
    for number, one in enumerate(errands):
        app.send_task(DRIVE, [one.run.ref], queue=f"doomed-{number}")
    child = on.start(nursery.command({f"doomed-{n}": one.point for n, one in enumerate(errands)}))
    if child.wait() != 0:
        return [f"the nursery ended with {child.returncode}: {on.said()}"]
    codes = json.loads(on.said().splitlines()[-1])
    return [
        f"the worker that was to die at {one.point} ended with {codes[f'doomed-{n}']}"
        for n, one in enumerate(errands)
        if codes[f"doomed-{n}"] != -signal.SIGKILL
    ]


def _finish(on: Stage, errands: Sequence[Errand]) -> list[str]:
    """Let others go on, and say yes wherever the reviewer is asked."""
    on.start(worker.command("runs", "survivor"))
    on.start(SWEEPER)
    late = _each(errands, lambda one: _answered(one), "wait at its gate")
    return late + _each(errands, lambda one: one.state() == RunState.COMPLETED, "complete")


def _answered(one: Errand) -> bool:
    gates = {"kind": WaitKind.GATE.value, "state": WaitState.OPEN.value}
    wait = Wait.objects.filter(run=one.run, **gates).first()
    if wait is None or one.state() != RunState.SUSPENDED:
        return False
    pipe = os.open(os.devnull, os.O_WRONLY)
    person.answer_gate(wait, Pen(pipe, one.notes))
    os.close(pipe)
    return True


def _each(errands: Sequence[Errand], ready: Callable[[Errand], bool], what: str) -> list[str]:
    """Wait until each is ready; returns those that were not in time."""
    waiting, end = list(errands), time.monotonic() + _PATIENCE
    while waiting and time.monotonic() < end:
        waiting = [one for one in waiting if not ready(one)]
        time.sleep(0.05)
    return [f"the run of {one.point} did not {what} within {_PATIENCE:g} s" for one in waiting]
