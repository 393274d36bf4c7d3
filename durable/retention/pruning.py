"""Pruning: of ended runs goes what the policy no longer keeps, a small bite at a time, beside live work.

A bite is one transaction under its run's lock, by the policy that is in force then; after each the pruner rests, so
that whoever works gets most of the machine. Killed at any point, it goes on where it was: what is gone is gone, with
the event that says so, and what is left is found again. Two pruners at once do no harm.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Exists, F, Q, QuerySet

from durable import clock, holds, journal, runs
from durable.beats import committing
from durable.models import OF_RUNS, RetentionPass, Run, SealKey
from durable.retention import kinds
from durable.retention.terms import Terms, policy, standing, terms
from durable.states import EventKind
from durable.transitions import lock_run

log = logging.getLogger(__name__)

#: Runs that are looked up at once, and rows that one bite takes at most of a kind.
BATCH, BITE = 100, 2_000
#: How long one pruning goes on; what is left is found by the next.
WITHIN = timedelta(minutes=10)
#: For each second of work, so many of rest; and the longest rest, in seconds.
REST, LONGEST_REST = 3.0, 1.0


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows went, of how many runs. `left`: it stopped because its time was over."""

    runs: int = 0
    checkpoints: int = 0
    frozen: int = 0
    messages: int = 0
    payloads: int = 0
    left: bool = False

    def __add__(self, other: Pruned) -> Pruned:
        sums = {one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)[:-1]}
        return Pruned(**sums, left=other.left)


def prunable() -> QuerySet[Run]:
    """The runs of which something goes now, by the policy in force."""
    return kinds.prunable(terms(policy()))


def prune(
    *,
    actor: str = journal.ENGINE,
    reason: str = "retention",
    batch: int = BATCH,
    within: timedelta = WITHIN,
    of: RetentionPass | None = None,
) -> Pruned:
    """Delete what the policy no longer keeps of ended runs, until nothing is due or `within` is over.

    Returns what went; `of` is the day's pass, in which it is counted as well. A run that can't be pruned is passed
    over and found again next time. Nothing goes while the search of a legal hold can't be resolved.
    """
    runs.check_actor(actor, reason)
    end = clock.elapsed() + within.total_seconds()
    if holds.find_again():
        log.error("nothing is pruned: the search of a legal hold can't be resolved")
        return Pruned()
    by, total = terms(policy()), Pruned()
    for run in _due(by, batch):
        bite = Pruned()
        begun = time.perf_counter()
        for bite in _bites(run.ref, actor, reason, of):
            total += bite
            _rest(begun)
            if clock.elapsed() >= end:
                return total + Pruned(left=True)
            begun = time.perf_counter()
        if bite == Pruned() and clock.elapsed() >= end:
            return total + Pruned(left=True)
    return total


def _due(by: Terms, batch: int) -> Iterator[Run]:
    """The runs that are due, a batch at a time: a later batch begins behind an earlier one's last."""
    due = kinds.prunable(by)
    while found := list(due[:batch]):
        yield from found
        if len(found) < batch:
            return
        last = found[-1]
        due = kinds.prunable(by).filter(
            Q(ended_at__gt=last.ended_at) | Q(ended_at=last.ended_at, pk__gt=last.pk)
        )


def _bites(run_ref: str, actor: str, reason: str, of: RetentionPass | None) -> Iterator[Pruned]:
    """Prune one run, bite after bite; the last one counts the run."""
    bite = Pruned()
    while not bite.runs:
        try:
            bite = _bite(run_ref, actor, reason, of)
        except Exception as error:
            log.error("pruning %s failed: %s", run_ref, type(error).__name__)
            connection.close_if_unusable_or_obsolete()
            connection.ensure_connection()
            return
        if bite == Pruned():
            return
        yield bite


def _bite(run_ref: str, actor: str, reason: str, of: RetentionPass | None) -> Pruned:
    """Delete up to a bite of each kind that is due."""
    with committing("prune"):
        holds.fence()
        by = standing()
        run = lock_run(run_ref)
        gone = {kind: kinds.take(kind, run, BITE) for kind in _due_of(run, by, OF_RUNS)}
        if not any(gone.values()):
            return Pruned()
        _told(run, gone, actor, reason)
        more = _due_of(run, by, [kind for kind, number in gone.items() if number >= BITE])
        counted: dict[str, Any] = {"runs": 0 if more else 1, **gone}
        bite = Pruned(**counted)
        if of is not None:
            RetentionPass.objects.filter(pk=of.pk).update(
                **{name: F(name) + n for name, n in counted.items()}
            )
    return bite


def _due_of(run: Run, by: Terms, some: Sequence[str]) -> list[str]:
    """Those of some kinds of which a locked run has something that goes by these terms."""
    here = Run.objects.filter(~holds.held(), ~kinds.unknown(), pk=run.pk)
    found = []
    for kind in some:
        days = by.of(kind)
        if days is not None and here.filter(kinds.over(days), Exists(kinds.of_run(kind))).exists():
            found.append(kind)
    return found


def _told(run: Run, gone: dict[str, int], actor: str, reason: str) -> None:
    """Write into the run's chain what went. A reason is sealed, where the run still has a key."""
    body = {"checkpoints": 0, "frozen": 0} | gone
    sealable = SealKey.objects.filter(run=run, wrapped__isnull=False).exists()
    journal.record(run, EventKind.PRUNED, actor=actor, words=reason if sealable else "", body=body)


def _rest(begun: float) -> None:
    time.sleep(min((time.perf_counter() - begun) * REST, LONGEST_REST))
