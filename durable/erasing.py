"""Erasing a person's data: their runs' keys are destroyed and what stood in clear is deleted; every chain verifies.

What is kept says that something was done, never to whom: digests, keyed hashes, amounts, receipts, classes, moments,
and who decided. A family of runs is one transaction, with an event in each of their chains: killed in between, the next
pass goes on. What is under way, in doubt or under a legal hold waits, and is tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

from django.db import connection
from django.db.models import F

from durable import clock, concerned, erased, erasure_list, erasure_orders, holds, journal, runs, vault
from durable.beats import committing
from durable.models import (
    Checkpoint,
    Effect,
    Erasure,
    ErasureRun,
    Frozen,
    Message,
    Run,
    Signal,
    Wait,
)
from durable.models.fields import Clock
from durable.states import ActKind, ErasureState

log = logging.getLogger(__name__)

#: What waits for something else is tried again after this.
AGAIN = timedelta(minutes=10)
#: Seconds that one pass takes at most; the next goes on.
WITHIN = 60.0
_BATCH = 100


def due() -> Iterator[int]:
    """The erasures with something left to do, those first that have waited longest."""
    found = Erasure.objects.filter(done_at=None, due_at__lte=Clock()).order_by("due_at", "pk")
    yield from found.values_list("pk", flat=True)


def carry_on(pk: int, *, within: float = WITHIN) -> None:
    """Go on with an erasure for so many seconds at most. What can't be erased yet says why, and is tried again later;
    what waits for a second person's say is not begun.

    Two at once do no harm: each family is locked, and the second finds nothing left to do.
    """
    erasure = Erasure.objects.get(pk=pk)
    if erasure.proposed or erasure.withdrawn_at is not None:
        return
    end, last, tried = clock.elapsed() + within, 0, set[int]()
    if holds.find_again():
        left = ErasureRun.objects.filter(erasure=erasure, state=ErasureState.WAITING.value)
        left.update(why="the search of a legal hold can't be read, so nobody knows what it holds")
        _settle(erasure, known=False)
        return
    while clock.elapsed() < end:
        waiting = ErasureRun.objects.filter(erasure=erasure, state=ErasureState.WAITING.value, pk__gt=last)
        items = list(waiting.order_by("pk")[:_BATCH])
        if not items:
            _settle(erasure)
            return
        for item in items:
            last = item.pk
            if item.run_id not in tried:
                tried |= _tried(erasure, item)
            if clock.elapsed() >= end:
                return


def _tried(erasure: Erasure, item: ErasureRun) -> set[int]:
    """Erase the family of one run, if that may be; returns the runs that were looked at."""
    try:
        return _family(erasure, item.run_id)
    except Exception as error:
        log.error("erasure %s: run %s failed: %s", erasure.pk, item.run_id, type(error).__name__)
        connection.close_if_unusable_or_obsolete()
        connection.ensure_connection()
        return {item.run_id}


def _family(erasure: Erasure, run_id: int) -> set[int]:
    kin = {one.id for one in concerned.of([run_id])}
    with committing("erase"):
        holds.fence()
        locked = list(Run.objects.select_for_update().filter(pk__in=kin).order_by("pk"))
        found = concerned.of([run_id])
        if {one.id for one in found} != kin:
            return {run_id}  # it was forked in between; the next pass takes the fork along
        mine = ErasureRun.objects.filter(erasure=erasure, run__in=kin)
        waiting = mine.filter(state=ErasureState.WAITING.value)
        if not waiting.exists():
            return kin  # another worker was faster
        if why := found[0].why:
            waiting.update(why=why)
            return kin
        erasure_list.add(erased.line(erasure, [run.ref for run in locked]))
        gone = {one.id for one in found if one.gone is not None}
        for run in locked:
            took = {} if run.pk in gone else _erase(run, erasure)
            mine.update_or_create(
                run=run,
                defaults={
                    "erasure": erasure, "state": ErasureState.ERASED.value, "why": "", "at": Clock(), "took": took,
                },
            )  # fmt: skip
    return kin


def _erase(run: Run, erasure: Erasure) -> dict[str, int]:
    """Delete what a locked run holds in clear, destroy its key, and say so in its chain. Returns how much went."""
    messages, _ = Message.objects.filter(branch=run.branch_id).delete()
    # The newest checkpoint says where the run came to its end; its state goes.
    checkpoints, _ = Checkpoint.objects.filter(run=run, version__lt=run.version).delete()
    Checkpoint.objects.filter(run=run).update(state={}, state_version=F("version"))
    frozen, _ = Frozen.objects.filter(run=run).delete()
    signals, _ = Signal.objects.filter(run=run).delete()
    Wait.objects.filter(run=run).update(detail={}, answer=None)
    for effect in Effect.objects.filter(run=run).exclude(failure="").only("pk", "failure"):
        # What the vendor calls it stays, what it says of it goes.
        Effect.objects.filter(pk=effect.pk).update(failure=effect.failure.partition(": ")[0])
    Run.objects.filter(pk=run.pk).update(
        input={},
        result=None,
        error="",
        message_count=0,
        start_key=run.start_key and runs.erased_key(run.start_key),
    )
    vault.destroy_within(run)
    took = {"messages": messages, "checkpoints": checkpoints, "frozen": frozen, "signals": signals}
    body = {"erasure": erasure.pk, "why": erasure.reason, "took": took}
    journal.record(run, ActKind.ERASED, actor=erasure.actor, body=body)
    return took


def _settle(erasure: Erasure, *, known: bool = True) -> None:
    """Have forgotten what stands beside the runs, if that may be, and say that the erasure is done, or when what is
    left of it is tried again. `known`: all legal holds could be read.
    """
    with committing("erase"):
        holds.fence()
        held = Erasure.objects.select_for_update().get(pk=erasure.pk)
        if held.done_at is not None:
            return
        left = ErasureRun.objects.filter(erasure=erasure)
        beside = known and erasure_orders.forget_beside(held)
        if not beside or left.filter(state=ErasureState.WAITING.value).exists():
            Erasure.objects.filter(pk=erasure.pk).update(due_at=Clock() + AGAIN)
            return
        Erasure.objects.filter(pk=erasure.pk).update(due_at=None, done_at=Clock())
        vault.forget_nameless()
        gone = left.filter(state=ErasureState.ERASED.value).count()
        erasure_orders.log(held, ActKind.ERASURE_ENDED, {"runs": gone})
