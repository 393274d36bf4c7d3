"""Erasing a person's data: their runs' keys are destroyed and what stood in clear is deleted; every chain verifies.

What is kept says that something was done, never to whom: digests, keyed hashes, amounts, receipts, classes, moments,
and who decided. A family of runs is one transaction, with an event in each of their chains: killed in between, the next
pass goes on. What is under way, in doubt or under a legal hold waits, and is tried again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import F

from durable import acts, clock, concerned, erased, erasure_list, holds, journal, runs, vault
from durable.beats import committing
from durable.concerned import Called
from durable.errors import Invalid, Moved
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
from durable.states import ActKind, EraseReason, ErasureState

log = logging.getLogger(__name__)

#: What waits for something else is tried again after this.
AGAIN = timedelta(minutes=10)
#: Seconds that one pass takes at most; the next goes on.
WITHIN = 60.0
_BATCH = 100
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ./#_-]{0,59}")


def ask(
    called: Sequence[Called],
    *,
    actor: str,
    seen: str,
    reason: str,
    reference: str = "",
    others: str = "",
    thoroughly: bool = False,
) -> Erasure:
    """Have a person's data erased, as `concerned.find` has shown it (`seen`); returns the erasure, not begun yet.

    `others` says what becomes of runs that name others of the same kind as well: `erase` or `leave`. Raises Moved where
    it is not what was seen any more, Invalid without reason, where nothing is left to erase, or where `others` is to be
    said and is not. Nothing that is kept names the person.
    """
    runs.check_actor(actor)
    _check(called, reason, reference)
    found = concerned.find(called, thoroughly=thoroughly)
    if found.seen != seen:
        raise Moved("what has to do with this person has changed since your page was made")
    left = [one for one in found.runs if one.gone is None]
    if not left:
        raise Invalid("names", "no run holds anything of theirs (any more)")
    if found.others and others not in ("erase", "leave"):
        raise Invalid("others", "say whether runs that name others as well are erased or left")
    spared = {one.id for one in left if one.others and others == "leave"}
    with committing("command"):
        erasure = Erasure.objects.create(
            kinds=[one.kind for one in found.called],
            hashes=[one.hash for one in found.called],
            reason=EraseReason(reason).value,
            reference=reference,
            actor=actor,
        )
        _list(erasure, [one.id for one in left], spared)
        _log(erasure, ActKind.ERASURE_ASKED, {"runs": len(left) - len(spared), "left": len(spared)})
    return erasure


def _check(called: Sequence[Called], reason: str, reference: str) -> None:
    if reason not in set(EraseReason):
        raise Invalid("reason", f"must be one of: {', '.join(EraseReason)}")
    if reference and not _REFERENCE.fullmatch(reference):
        raise Invalid("reference", "must be at most 60 letters, digits, spaces and . / # _ -")
    if any(concerned.stands_in(one, reference) for one in called):
        raise Invalid("reference", "must not name the person: it is kept for ever")


def _list(erasure: Erasure, ids: Iterable[int], spared: Iterable[int] = ()) -> None:
    left = set(spared)
    ErasureRun.objects.bulk_create(
        ErasureRun(
            erasure=erasure,
            run_id=id,
            state=(ErasureState.LEFT if id in left else ErasureState.WAITING).value,
            why="it names others as well" if id in left else "",
        )
        for id in sorted(ids)
    )


def _log(erasure: Erasure, what: ActKind, body: dict[str, Any]) -> None:
    acts.record(
        what,
        actor=erasure.actor,
        about=acts.about("erasure", erasure.pk),
        body={
            "kinds": erasure.kinds,
            "subjects": erasure.hashes,
            "why": erasure.reason,
            "reference": erasure.reference,
            **body,
        },
    )


def due() -> Iterator[int]:
    """The erasures with something left to do, those first that have waited longest."""
    found = Erasure.objects.filter(done_at=None, due_at__lte=Clock()).order_by("due_at", "pk")
    yield from found.values_list("pk", flat=True)


def carry_on(pk: int, *, within: float = WITHIN) -> None:
    """Go on with an erasure for so many seconds at most. What can't be erased yet says why, and is tried again later.

    Two at once do no harm: each family is locked, and the second finds nothing left to do.
    """
    erasure = Erasure.objects.get(pk=pk)
    end, last, tried = clock.elapsed() + within, 0, set[int]()
    if holds.find_again():
        left = ErasureRun.objects.filter(erasure=erasure, state=ErasureState.WAITING.value)
        left.update(why="the search of a legal hold can't be read, so nobody knows what it holds")
        _settle(erasure)
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


def _settle(erasure: Erasure) -> None:
    """Say that an erasure is done, or when what is left of it is tried again."""
    with committing("erase"):
        held = Erasure.objects.select_for_update().get(pk=erasure.pk)
        if held.done_at is not None:
            return
        left = ErasureRun.objects.filter(erasure=erasure)
        if left.filter(state=ErasureState.WAITING.value).exists():
            Erasure.objects.filter(pk=erasure.pk).update(due_at=Clock() + AGAIN)
            return
        Erasure.objects.filter(pk=erasure.pk).update(due_at=None, done_at=Clock())
        vault.forget_nameless()
        gone = left.filter(state=ErasureState.ERASED.value).count()
        _log(held, ActKind.ERASURE_ENDED, {"runs": gone})


def again(lines: Iterable[erasure_list.Line], *, actor: str) -> list[Erasure]:
    """Ask once more for what a list of erasures has erased and this database holds: after a restore from a backup.

    Returns an erasure for each that had something left here.
    """
    runs.check_actor(actor)
    refs: dict[tuple[Any, ...], list[str]] = {}
    for line in lines:
        whose = (tuple(line.kinds), tuple(line.hashes), line.reason, line.reference)
        refs.setdefault(whose, []).extend(line.runs)
    made = []
    for (kinds, hashes, reason, reference), names in refs.items():
        with committing("command"):
            erased = ErasureRun.objects.filter(state=ErasureState.ERASED.value).values("run")
            ids = list(Run.objects.filter(ref__in=names).exclude(pk__in=erased).values_list("pk", flat=True))
            if not ids:
                continue
            erasure = Erasure.objects.create(
                kinds=list(kinds), hashes=list(hashes), reason=reason, reference=reference, actor=actor
            )
            _list(erasure, ids)
            _log(erasure, ActKind.ERASURE_ASKED, {"runs": len(ids), "left": 0, "again": True})
            made.append(erasure)
    return made
