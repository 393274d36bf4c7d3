"""Races of a run's worker against what comes from outside: a cancel, a reviewer's yes, an event."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

from durable import journal, runner, runs
from durable.models import Effect, Run
from durable.states import EventKind, RunState
from proof.races import cast, unguarded
from proof.races.ground import Ground, drive
from proof.races.harness import Beaten, Control, Played, Race


@dataclass(frozen=True)
class Living:
    """A run to be contended for. `met` is for a control whose contenders wait for each other."""

    run: Run
    ground: Ground
    met: threading.Event = field(default_factory=threading.Event)

    @property
    def ref(self) -> str:
        return self.run.ref

    @property
    def order(self) -> str:
        return str(self.run.input["order"])

    @property
    def charge(self) -> str:
        return str(self.run.input["charge"])


def queued(agent: type[Any], ground: Ground, rounds: int, **input: Any) -> list[Living]:
    """Runs that have just been started."""
    return [Living(ground.start(agent.name, **input), ground) for _ in range(rounds)]


def kinds(living: Living) -> list[str]:
    """What the run's ledger tells, in order."""
    return [event.kind for event in journal.events(living.ref)]


def worker(living: Living) -> None:
    """A worker takes the run, and acts."""
    runner.drive(living.ref)
    if not Effect.objects.filter(run=living.run).exists():
        raise Beaten("there was nothing to do any more")


# Cancel against apply


def cancel(living: Living) -> None:
    """An operator cancels, and wants undone what has been done."""
    try:
        runs.cancel(living.ref, actor="sven", reason="the customer has withdrawn", undo=True)
    finally:
        living.met.set()


def worker_after_cancel(living: Living) -> None:
    """The worker has begun its step when the cancel comes."""
    cast.before_act[:] = [lambda _ref: (living.met.wait(5), None)[1]]
    try:
        worker(living)
    finally:
        cast.before_act.clear()


def cancel_in_step(living: Living) -> None:
    """The cancel comes when the worker has claimed the run."""
    end = time.monotonic() + 5
    while not Run.objects.filter(pk=living.run.pk, state=RunState.RUNNING.value).exists():
        if time.monotonic() > end:
            raise Beaten("nobody has claimed it")
        time.sleep(0.001)
    time.sleep(unguarded.BETWEEN * 3)
    cancel(living)


def judge_cancel(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """Nothing is begun after the cancel, what was done before it is undone, once."""
    drive(one.item.run for one in played)
    book = ground.moved()
    for one in played:
        living: Living = one.item
        moved, told = book[living.order], kinds(living)
        if not one.outcomes["cancel"].won:
            if living.run.state != RunState.COMPLETED or moved != [1]:
                yield f"{living.ref}: not cancelled, {living.run.state}, and the book says {moved}"
            continue
        if living.run.state != RunState.COMPENSATED or moved not in ([], [1, -1]):
            yield f"{living.ref}: cancelled, {living.run.state}, and the book says {moved}"
        forward = [
            event
            for event in journal.events(living.ref)[told.index(EventKind.CANCEL_ASKED) :]
            if event.kind in (EventKind.INTENT, EventKind.SENT) and not event.effect_key.endswith(":undo")
        ]
        if forward:
            yield f"{living.ref}: {forward[0].kind} after the cancel"


def side_of_cancel(one: Played) -> str:
    if not one.outcomes["cancel"].won:
        return "applied, not cancelled"
    return "undone" if one.outcomes["worker"].won else "never begun"


@contextmanager
def _intents_after_cancel() -> Iterator[None]:
    module = import_module("durable.ledger.intent")
    unasked = unguarded.without(module.INTENT, "AND r.state = %(wanted)s ")
    with unguarded.replaced(module, "INTENT", unasked):
        yield


RACES = (
    Race(
        "cancel/apply",
        partial(queued, cast.Keeper),
        {"worker": worker, "cancel": cancel},
        judge_cancel,
        Control(
            "the release's look at the run's state",
            _intents_after_cancel,
            {"worker": worker_after_cancel, "cancel": cancel_in_step},
        ),
        sides={"undone": "worker", "never begun": "cancel"},
        side=side_of_cancel,
    ),
)
