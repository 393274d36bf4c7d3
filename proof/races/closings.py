"""Races over a gate against what ends it from elsewhere: a lock held past decide-by, and an operator's cancel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.db import connection, transaction

from approvals import decisions
from approvals.models import Gate
from approvals.states import Verdict
from durable import journal, runs
from durable.models import Effect
from durable.models.fields import Clock
from durable.states import EffectState, EventKind, RunState
from durable.transitions import lock_run
from proof.races import unguarded
from proof.races.gates import BLIND, DRIVEN, YES, Asked, answers, prepare
from proof.races.ground import Ground, drive
from proof.races.harness import Control, Played, Race

# Held on a lock across decide-by


def holds(asked: Asked) -> None:
    """Somebody else holds the run's row, and lets go of it when decide-by is over."""
    with transaction.atomic():
        lock_run(asked.run.ref)
        asked.held.set()
        unguarded.until_somebody_waits()
        Gate.objects.filter(pk=asked.gate.pk).update(decide_by=Clock())


def approves_held(asked: Asked) -> str:
    """The click comes in time, and gets its turn too late."""
    asked.held.wait(5)
    return answers(Verdict.APPROVE, 0, asked)


def judge_held(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """It is refused as too late, and nothing is decided."""
    for one in played:
        asked: Asked = one.item
        outcome = one.outcomes["approve"]
        if outcome.won or "had to be decided by" not in outcome.words:
            yield f"{asked.run.ref}: approved after decide-by ({outcome.words})"
        if asked.gate.decisions.exists():
            yield f"{asked.run.ref}: a decision is recorded after decide-by"


@contextmanager
def _clock_before_locks() -> Iterator[None]:
    """Decide-by is held against the moment at which the transaction began."""

    def began() -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT now()")
            return cursor.fetchone()[0]

    with unguarded.replaced(decisions, "db_now", began):
        yield


# Cancel against approve


def cancels(asked: Asked) -> None:
    """An operator stops the run for good."""
    runs.cancel(asked.run.ref, actor="sven", reason="the customer has withdrawn")


def judge_cancelled(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    """The cancel stands whoever came first, no approval follows it, and nothing moves."""
    for one in played:
        run = one.item.run
        run.refresh_from_db()
        kinds = [event.kind for event in journal.events(run.ref)]
        approve = one.outcomes["approve"]
        if not one.outcomes["cancel"].won:
            yield f"{run.ref}: the cancel was refused: {one.outcomes['cancel'].words}"
        if run.state != RunState.CANCELLING:
            yield f"{run.ref}: cancelled, and the run is {run.state}"
        if EventKind.APPROVED in kinds and kinds.index(EventKind.APPROVED) > kinds.index(
            EventKind.CANCEL_ASKED
        ):
            yield f"{run.ref}: approved after the cancel"
        if approve.won != (EventKind.APPROVED in kinds):
            yield f"{run.ref}: the reviewer was told {approve.words!r}, and the ledger says otherwise"
        if not approve.won and "sven" not in approve.words:
            yield f"{run.ref}: the reviewer was not told who cancelled, but {approve.words!r}"
    driven = played[::DRIVEN]
    drive(one.item.run for one in driven)
    book = ground.moved()
    for one in driven:
        run = one.item.run
        effect = Effect.objects.get(run=run)
        if (run.state, effect.state) != (RunState.CANCELLED, EffectState.WITHDRAWN) or book[one.item.charge]:
            yield f"{run.ref}: {run.state}, its effect {effect.state}, moved {book[one.item.charge]}"


def _first_of_cancel(one: Played) -> str:
    return "approve, then cancel" if one.outcomes["approve"].won else "cancel"


RACES = (
    Race(
        "approve held past decide-by",
        prepare,
        {"approve": approves_held, "holder": holds},
        judge_held,
        Control("the clock that is read after the locks", _clock_before_locks),
        side=lambda one: "approved late" if one.outcomes["approve"].won else "refused as too late",
    ),
    Race(
        "cancel/approve",
        partial(prepare, together=1),
        {"approve": YES, "cancel": cancels},
        judge_cancelled,
        BLIND,
        sides={"approve, then cancel": "approve", "cancel": "cancel"},
        side=_first_of_cancel,
    ),
)
