"""Races of a worker that puts its run to rest against what the run would wait for: an event, a reviewer's yes."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from approvals.models import Gate
from approvals.states import Verdict
from durable import protocol, runner, suspending, waits
from durable.errors import Suspension
from durable.models import Checkpoint, Effect, Signal, Wait
from durable.states import CheckpointKind, RunState, WaitKind
from proof.races import cast, unguarded
from proof.races.ground import Ground, drive, say
from proof.races.harness import Beaten, Control, Played, Race
from proof.races.lives import Living, queued

# An event


def deliver(living: Living) -> None:
    """The event comes from outside."""
    if not waits.deliver(living.ref, "word", {"is": "yes"}, dedupe="once"):
        raise Beaten("it had come before")


def drives(living: Living) -> None:
    """A worker drives the run until it waits."""
    runner.drive(living.ref)


def judge_heard(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """Whoever came first, the run has heard and goes on."""
    for one in played:
        living: Living = one.item
        living.run.refresh_from_db()
        if one.side == "neither":
            yield f"{living.ref}: its worker found nothing to do"
        if living.run.state == RunState.SUSPENDED:
            yield f"{living.ref}: it waits for what has come"
            continue
        drive([living.run])
        if living.run.state != RunState.COMPLETED:
            yield f"{living.ref}: it has heard, and is {living.run.state} {living.run.error}"


def side_of_heard(one: Played) -> str:
    came = Signal.objects.filter(run=one.item.run).first()
    waited = Wait.objects.filter(run=one.item.run, kind=WaitKind.EVENT.value).first()
    if came is None or waited is None:
        return "neither"
    return "event first" if came.received_at < waited.opened_at else "wait first"


# A reviewer's yes


class _Lead:
    """Seconds that the vendor of the ungated effect takes, or, below zero, that the reviewer does at the gate.

    More after a round that the suspension has won, else less, and the sooner the longer it has been so.
    """

    seconds, _step, _last = 0.02, 0.01, ""

    def vendor(self, _run: str) -> None:
        time.sleep(max(self.seconds, 0.0))

    def reviewer(self) -> None:
        time.sleep(max(-self.seconds, 0.0))

    def balance(self, side: str) -> None:
        """Let the other side come first next time, or soon."""
        self._step = min(self._step * 2, 0.08) if side == self._last else 0.01
        self._last = side
        step = self._step * random.uniform(0.2, 1.0)  # chance, not a secret
        self.seconds = min(max(self.seconds + (step if side == "wait first" else -step), -0.5), 0.5)


_lead = _Lead()


def acts_and_waits(living: Living) -> None:
    """A worker records both effects of the turn, does the one that needs nobody, and waits for the other."""
    cast.while_asking[:] = [_lead.vendor]
    try:
        runner.drive(living.ref)
    finally:
        cast.while_asking.clear()


def acts_and_waits_for_the_yes(living: Living) -> None:
    """The vendor takes as long as the reviewer does."""
    cast.while_asking[:] = [lambda _ref: (living.met.wait(5), None)[1]]
    try:
        runner.drive(living.ref)
    finally:
        cast.while_asking.clear()


def says_yes(living: Living) -> None:
    """A reviewer answers as soon as the gate is there."""
    end = time.monotonic() + 5
    try:
        while (gate := _gate(living)) is None:
            if time.monotonic() > end:
                raise Beaten("nobody was asked")
            time.sleep(0.001)
        _lead.reviewer()
        say(living.ground.reviewers[0], gate, Verdict.APPROVE)
    finally:
        living.met.set()


def _gate(living: Living) -> Gate | None:
    return Gate.objects.select_related("effect__run", "wait").filter(effect__run=living.run).first()


def side_of_yes(one: Played) -> str:
    """Which was there first, the decision or the run at rest; found out before anybody goes on."""
    rested = Checkpoint.objects.filter(run=one.item.run, kind=CheckpointKind.SUSPEND.value).first()
    gate = _gate(one.item)
    decided = None if gate is None else gate.decisions.first()
    if decided is None:
        return "no yes"
    side = "yes first" if rested is None or decided.at < rested.at else "wait first"
    _lead.balance(side)
    return side


def judge_let_go(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """Whoever came first, the yes has let the run go on, and each effect was done once."""
    for one in played:
        living: Living = one.item
        living.run.refresh_from_db()
        if not one.outcomes["reviewer"].won:
            yield f"{living.ref}: the reviewer was told {one.outcomes['reviewer'].words!r}"
        if living.run.state == RunState.SUSPENDED:
            yield f"{living.ref}: it waits for a yes that was given"
    drive(one.item.run for one in played)
    book = ground.moved()
    for one in played:
        living = one.item
        if living.run.state == RunState.COMPLETED and book[living.order] != [1, 1]:
            yield f"{living.ref}: the book says {book[living.order]}"
        elif living.run.state not in (RunState.COMPLETED, RunState.SUSPENDED):
            yield f"{living.ref}: it may go on, and is {living.run.state} {living.run.error}"


@contextmanager
def _answers_not_read_again() -> Iterator[None]:
    """Who suspends doesn't look whether what it waits for has come meanwhile."""
    rest = suspending._rest

    def wait_on(_claim: object, effect: Effect, _ask: object) -> Effect:
        raise Suspension(*waits.of_effect(effect))

    with (
        unguarded.replaced(waits, "waiting_signal", lambda *_: None),
        unguarded.replaced(protocol, "_wait_on", wait_on),
        unguarded.replaced(suspending, "_rest", lambda *run, answered: rest(*run, answered=False)),
    ):
        yield


_UNREAD = Control("the second look at the waits, under the run's lock", _answers_not_read_again)

RACES = (
    Race(
        "answer/suspend",
        partial(queued, cast.Listener),
        {"worker": drives, "event": deliver},
        judge_heard,
        _UNREAD,
        sides={"event first": "event", "wait first": "worker"},
        side=side_of_heard,
    ),
    Race(
        "yes/suspend",
        partial(queued, cast.Both),
        {"worker": acts_and_waits, "reviewer": says_yes},
        judge_let_go,
        Control(
            _UNREAD.guard,
            _answers_not_read_again,
            {"worker": acts_and_waits_for_the_yes, "reviewer": says_yes},
        ),
        sides={"yes first": "reviewer", "wait first": "worker"},
        side=side_of_yes,
    ),
)
