"""Pruning: an ended run keeps its final checkpoint and its ledger; the steps in between go after a while.

Runs in flight keep everything, and so does what a fork refers to. The ledger is never pruned here.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from durable import clock, journal, runs
from durable.beats import committing
from durable.models import Checkpoint, Frozen, Run
from durable.models.fields import Moment
from durable.states import ENDED, EventKind, RunState
from durable.transitions import lock_run

log = logging.getLogger(__name__)

#: How long an ended run keeps its intermediate checkpoints and frozen results.
KEEP = timedelta(days=7)
#: Runs that one batch takes: small, so that live work is not held up.
BATCH = 100
#: How long one pruning goes on, batch after batch; what is left is found by the next.
WITHIN = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows went, or would go."""

    runs: int = 0
    checkpoints: int = 0
    frozen: int = 0


def prunable(keep: timedelta = KEEP) -> QuerySet[Run]:
    """Return the ended runs that still hold intermediates older than `keep`."""
    ended = Run.objects.filter(state__in=[s.value for s in ENDED], ended_at__lt=Moment() - keep)
    frozen = Exists(_stale().filter(run=OuterRef("pk")))
    return ended.filter(Exists(_doomed().filter(run=OuterRef("pk"))) | frozen).order_by("ended_at", "id")


def _doomed() -> QuerySet[Checkpoint]:
    """What may go: not the newest, not what a fork began from, nor the row that holds the state of either."""
    forks = Exists(Run.objects.filter(parent=OuterRef("run"), parent_version=OuterRef("version")))
    kept = Checkpoint.objects.filter(Q(version=F("run__version")) | forks)
    states = kept.filter(run=OuterRef("run"), state_version=OuterRef("version"))
    return Checkpoint.objects.filter(~Exists(states), ~forks, version__lt=F("run__version"))


def _stale() -> QuerySet[Frozen]:
    """Frozen results that may go: all but those of the step at which a failed run stands, which a retry is answered by.

    Without them its effects, sent long ago, could meet other arguments than they were sent with.
    """
    stands = Q(run__state=RunState.FAILED.value, step=F("run__step"), visit=F("run__visit"))
    return Frozen.objects.exclude(stands)


def prune(
    keep: timedelta = KEEP,
    *,
    actor: str = journal.ENGINE,
    reason: str = "retention",
    dry: bool = False,
    batch: int = BATCH,
    within: timedelta = WITHIN,
) -> Pruned:
    """Delete intermediates of ended runs, one run a transaction, until none is left or `within` is over.

    Returns what went (with `dry`: what would go). A run that can't be pruned is passed over and found again next time.
    """
    runs.check_actor(actor, reason)
    total, end = Pruned(), clock.elapsed() + within.total_seconds()
    due = prunable(keep)
    while clock.elapsed() < end:
        found = list(due[:batch])
        for run in found:
            one = _dry(run) if dry else _tried(run.ref, keep, actor, reason)
            total = Pruned(
                total.runs + one.runs, total.checkpoints + one.checkpoints, total.frozen + one.frozen
            )
            if clock.elapsed() >= end:
                return total
        if len(found) < batch:
            break
        last = found[-1]
        due = prunable(keep).filter(Q(ended_at__gt=last.ended_at) | Q(ended_at=last.ended_at, pk__gt=last.pk))
    return total


def _tried(run_ref: str, keep: timedelta, actor: str, reason: str) -> Pruned:
    try:
        return _prune(run_ref, keep, actor, reason)
    except Exception as error:
        log.error("pruning %s failed: %s", run_ref, type(error).__name__)
        connection.close_if_unusable_or_obsolete()
        connection.ensure_connection()
        return Pruned()


def _prune(run_ref: str, keep: timedelta, actor: str, reason: str) -> Pruned:
    with committing("prune"):
        run = lock_run(run_ref)
        if not prunable(keep).filter(pk=run.pk).exists():
            return Pruned()
        gone, _ = _doomed().filter(run=run).delete()
        frozen, _ = _stale().filter(run=run).delete()
        journal.record(
            run, EventKind.PRUNED, actor=actor, words=reason, body={"checkpoints": gone, "frozen": frozen}
        )
    return Pruned(1, gone, frozen)


def _dry(run: Run) -> Pruned:
    return Pruned(1, _doomed().filter(run=run).count(), _stale().filter(run=run).count())
