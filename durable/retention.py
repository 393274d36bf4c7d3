"""Pruning: an ended run keeps its final checkpoint and its ledger; the steps in between go after a while.

Runs in flight keep everything, and so does what a fork refers to. The ledger is never pruned here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from durable import journal, runs
from durable.beats import committing
from durable.models import Checkpoint, Frozen, Run
from durable.models.fields import Clock
from durable.states import ENDED, EventKind
from durable.transitions import lock_run

#: How long an ended run keeps its intermediate checkpoints and frozen results.
KEEP = timedelta(days=7)
#: Runs that one batch takes: small, so that live work is not held up.
BATCH = 100


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows went, or would go."""

    runs: int = 0
    checkpoints: int = 0
    frozen: int = 0


def prunable(keep: timedelta = KEEP) -> QuerySet[Run]:
    """Return the ended runs that still hold intermediates older than `keep`."""
    ended = Run.objects.filter(state__in=[s.value for s in ENDED], ended_at__lt=Clock() - keep)
    frozen = Exists(Frozen.objects.filter(run=OuterRef("pk")))
    return ended.filter(Exists(_doomed().filter(run=OuterRef("pk"))) | frozen).order_by("id")


def _doomed() -> QuerySet[Checkpoint]:
    """What may go: not the newest, not what a fork began from, nor the row that holds the state of either."""
    forks = Exists(Run.objects.filter(parent=OuterRef("run"), parent_version=OuterRef("version")))
    kept = Checkpoint.objects.filter(Q(version=F("run__version")) | forks)
    states = kept.filter(run=OuterRef("run"), state_version=OuterRef("version"))
    return Checkpoint.objects.filter(~Exists(states), ~forks, version__lt=F("run__version"))


def prune(
    keep: timedelta = KEEP,
    *,
    actor: str = journal.ENGINE,
    reason: str = "retention",
    dry: bool = False,
    batch: int = BATCH,
) -> Pruned:
    """Delete intermediates of ended runs, one run a transaction; returns what went (with `dry`: what would go)."""
    runs.check_actor(actor, reason)
    total = Pruned()
    for run in prunable(keep)[:batch]:
        one = _dry(run) if dry else _prune(run.ref, keep, actor, reason)
        total = Pruned(total.runs + one.runs, total.checkpoints + one.checkpoints, total.frozen + one.frozen)
    return total


def _prune(run_ref: str, keep: timedelta, actor: str, reason: str) -> Pruned:
    with committing("prune"):
        run = lock_run(run_ref)
        if not prunable(keep).filter(pk=run.pk).exists():
            return Pruned()
        gone, _ = _doomed().filter(run=run).delete()
        frozen, _ = Frozen.objects.filter(run=run).delete()
        journal.record(
            run, EventKind.PRUNED, actor=actor, words=reason, body={"checkpoints": gone, "frozen": frozen}
        )
    return Pruned(1, gone, frozen)


def _dry(run: Run) -> Pruned:
    return Pruned(1, _doomed().filter(run=run).count(), Frozen.objects.filter(run=run).count())
