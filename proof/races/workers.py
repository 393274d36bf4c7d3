"""Races among those who serve all runs: workers, sweepers, beats."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from django.db.models import Exists

from durable import claims, recovery, retention, runner, wakeup
from durable.models import LedgerEvent, Run, Wait
from durable.models.fields import Clock
from durable.retention import kinds as retained
from durable.states import EventKind, RunState
from durable.transitions.hot import CLAIM
from proof.races import cast, unguarded
from proof.races.ground import SMALL, Ground, drive
from proof.races.harness import Beaten, Control, Played, Race
from proof.races.lives import Living, kinds, queued

# Two claims


def take(living: Living) -> None:
    """A worker takes the run as far as it goes."""
    if not runner.drive(living.ref):
        raise Beaten("another worker was first")


def judge_claims(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """One has claimed it, and the money has moved once."""
    for one in played:
        living: Living = one.item
        living.run.refresh_from_db()
        if len(one.winners) != 1 or living.run.attempt != 1:
            yield f"{living.ref}: claimed by {len(one.winners)}, {living.run.attempt} attempts"
    drive(one.item.run for one in played)
    book = ground.moved()
    for one in played:
        if book[one.item.charge] != [Decimal(SMALL)]:
            yield f"{one.item.ref}: {one.item.run.state}, and the book says {book[one.item.charge]}"


@contextmanager
def _claims_without_locks() -> Iterator[None]:
    with unguarded.replaced(claims, "CLAIM", unguarded.without(CLAIM, "FOR UPDATE OF r")):
        yield


# Two sweepers, and a third


@dataclass(frozen=True)
class Due:
    """What falls due in one round: a gate, a timer, and a run that no message has announced."""

    gate: Run
    timer: Run
    unheard: Run

    @property
    def all(self) -> list[Run]:
        return [self.gate, self.timer, self.unheard]


#: Which runs were announced, in order, by this process.
_announced: list[str] = []
_WAKEUP: Any = wakeup


def due(ground: Ground, rounds: int) -> list[Due]:
    found = []
    for _ in range(rounds):
        gate, timer = ground.start(cast.Giver.name), ground.start(cast.Sleeper.name)
        drive([gate, timer])
        unheard = ground.start(cast.Sleeper.name)
        Run.objects.filter(pk=unheard.pk).update(due_at=None)
        found.append(Due(gate, timer, unheard))
    return found


def fall_due(item: Due) -> None:
    """It is time for all three."""
    _announced.clear()
    Wait.objects.filter(run__in=[item.gate, item.timer]).update(deadline=Clock())
    Run.objects.filter(pk=item.unheard.pk).update(due_at=Clock(), hinted_at=None)


def sweep(item: Due) -> str:
    """A whole sweep, as `manage.py sweep` makes them."""
    with _listening:
        return str(recovery.sweep())


class _Listening:
    """Writes down which runs the sweepers announce; the messages go out all the same."""

    def __init__(self) -> None:
        self._inside, self._lock, self._publish = 0, threading.Lock(), wakeup.publish

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            _WAKEUP.publish = self._told

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _WAKEUP.publish = self._publish

    def _told(self, run_ref: str) -> bool:
        _announced.append(run_ref)
        return self._publish(run_ref)


_listening = _Listening()


def swept(one: Played) -> str:
    """How often each of the three was announced, read before the next round begins."""
    item: Due = one.item
    counts = [_announced.count(run.ref) for run in item.all]
    return "one announcement each" if counts == [1, 1, 1] else f"announced {counts}"


def judge_sweeps(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """Each was found once: ended once, announced once."""
    for one in played:
        item: Due = one.item
        expired = LedgerEvent.objects.filter(run_ref=item.gate.ref, kind=EventKind.EXPIRED.value).count()
        if expired != 1:
            yield f"{item.gate.ref}: its gate expired {expired} times"
        if one.side != "one announcement each":
            yield f"{item.gate.ref}, {item.timer.ref}, {item.unheard.ref}: {one.side}"
    drive(run for one in played for run in one.item.all)
    for one in played:
        for run in (one.item.gate, one.item.timer):
            if run.state != RunState.COMPLETED:
                yield f"{run.ref}: it ended as {run.state}"


@contextmanager
def _sweeps_without_locks() -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(unguarded.checks_under_lock())
        hint = unguarded.without(recovery._HINT, "FOR UPDATE SKIP LOCKED")
        stack.enter_context(unguarded.replaced(recovery, "_HINT", hint))
        yield


# Two beats


def ended(ground: Ground, rounds: int) -> list[Living]:
    """Runs that have ended, with checkpoints in between."""
    found = queued(cast.Keeper, ground, rounds)
    drive(living.run for living in found)
    return found


def retained_long_enough(living: Living) -> None:
    Run.objects.filter(pk=living.run.pk).update(ended_at=Clock() - timedelta(days=7, hours=1))


def prune(living: Living) -> None:
    """What one beat's message does."""
    if not retention.prune().runs:
        raise Beaten("there was nothing to prune")


@contextmanager
def _counts_what_was_due() -> Iterator[None]:
    """No lock, and told is what was there to be deleted, whoever deletes it."""
    delete = retained.take

    def take_what_is_due(kind: str, run: Run, most: int) -> int:
        due = Run.objects.filter(Exists(retained.of_run(kind)), pk=run.pk).exists()
        time.sleep(unguarded.BETWEEN)
        return max(delete(kind, run, most), int(due))

    with unguarded.row_locks(), unguarded.replaced(retained, "take", take_what_is_due):
        yield


def judge_pruned(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """It was pruned once, and what it ended with is kept."""
    for one in played:
        living: Living = one.item
        told = kinds(living).count(EventKind.PRUNED)
        if told != 1 or len(one.winners) != 1:
            yield f"{living.ref}: pruned {told} times, by {len(one.winners)}"
        if not living.run.checkpoints.filter(version=living.run.version).exists():
            yield f"{living.ref}: its last checkpoint is gone"


RACES = (
    Race(
        "two claims",
        partial(queued, cast.Refunder),
        {"first": take, "second": take, "third": take},
        judge_claims,
        Control("the claim's row lock", _claims_without_locks),
        sides={"first": "first", "second": "second", "third": "third"},
    ),
    Race(
        "two sweepers",
        due,
        {"first": sweep, "second": sweep, "third": sweep},
        judge_sweeps,
        Control("row locks and conditional updates", _sweeps_without_locks),
        side=swept,
        arrange=fall_due,
        alone=True,
    ),
    Race(
        "two beats",
        ended,
        {"first": prune, "second": prune},
        judge_pruned,
        Control("counting what is really deleted", _counts_what_was_due),
        sides={"first": "first", "second": "second"},
        arrange=retained_long_enough,
        alone=True,
    ),
)
