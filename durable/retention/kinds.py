"""What of an ended run may go, kind by kind, and what never does however old it is.

Never: anything of a run that is under way, under a legal hold, or has an effect whose fate nobody knows; the newest
checkpoint and the row that holds its state; what a fork began from, its conversation too; the receipts that a fork may
still be answered by; what was frozen where a failed run stands, which a retry is answered by.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from durable import holds, vault
from durable.models import OF_RUNS, Branch, Checkpoint, Effect, Frozen, Message, Run, SealKey
from durable.models.fields import Moment
from durable.retention.terms import Terms
from durable.sql import count
from durable.states import ENDED, UNSETTLED, RunState

#: Few: what has ended is found by when it did, not by its state.
_UNDER_WAY = [state.value for state in RunState if state not in ENDED]
#: Boxes are found by what they were sealed for: by their run no index finds them.
_EMPTY = """
UPDATE durable_sealed SET box = ''::bytea
WHERE box <> ''::bytea AND id IN (
    SELECT unnest(ARRAY[payload_id, payload_asked_id, facts_id, words_id, said_id, proof_id])
    FROM durable_effect WHERE run_id = %(run)s
    UNION SELECT d.sealed_id FROM durable_ledgerevent v JOIN durable_eventdetail d ON d.event_id = v.id
    WHERE v.run_ref = %(ref)s
)
"""


def over(days: int) -> Q:
    """Runs that ended so many days ago."""
    return ~Q(state__in=_UNDER_WAY) & Q(ended_at__lt=Moment() - timedelta(days=days))


def ended(terms: Terms) -> QuerySet[Run]:
    """The runs of which something goes by these terms, if it is not kept for another reason; oldest end first."""
    due = Q(pk__in=[])
    for kind in OF_RUNS:
        days = terms.of(kind)
        if days is not None:
            due |= over(days) & Q(Exists(of_run(kind)))
    shortest = terms.shortest
    if shortest is None:
        return Run.objects.none()
    # Once more by the moment alone, which an index has.
    old = Run.objects.filter(ended_at__lt=Moment() - timedelta(days=shortest))
    return old.filter(due).order_by("ended_at", "id")


def prunable(terms: Terms) -> QuerySet[Run]:
    """The runs of which something goes now; oldest end first."""
    return ended(terms).filter(~holds.held(), ~unknown())


def unknown() -> Exists:
    """Whether a run has an effect of which nobody knows what became."""
    return Exists(Effect.objects.filter(run=OuterRef("pk"), state__in=[state.value for state in UNSETTLED]))


def of_run(kind: str) -> QuerySet[Any]:
    """The rows of one kind that a run in the outer query need not keep."""
    found: dict[str, QuerySet[Any]] = {
        "checkpoints": _checkpoints().filter(run=OuterRef("pk")),
        "frozen": _frozen().filter(run=OuterRef("pk")),
        "messages": _messages().filter(branch=OuterRef("branch")),
        "payloads": _payloads().filter(run=OuterRef("pk")),
    }
    return found[kind]


def take(kind: str, run: Run, most: int) -> int:
    """Delete up to `most` of them, in the caller's transaction, which holds the run's lock. Returns how many."""
    if kind == "payloads":
        return _forget(run)
    doomed: dict[str, QuerySet[Any]] = {
        "checkpoints": _checkpoints().filter(run=run),
        "frozen": _frozen().filter(run=run),
        "messages": _messages().filter(branch=run.branch_id),
    }
    some = doomed[kind].order_by().values("pk")[:most]
    gone, _ = doomed[kind].model._default_manager.filter(pk__in=some).delete()
    return int(gone)


def _forget(run: Run) -> int:
    """Destroy the run's seal key, and empty the boxes that nobody can open any more: rows and digests stay."""
    vault.destroy_within(run)
    # The key itself counts where nothing was sealed under it.
    return max(count(_EMPTY, {"run": run.pk, "ref": run.ref}), 1)


def _checkpoints() -> QuerySet[Checkpoint]:
    """All but the newest, what a fork began from, and the rows that hold the state of either."""
    forks = Exists(Run.objects.filter(parent=OuterRef("run"), parent_version=OuterRef("version")))
    kept = Checkpoint.objects.filter(Q(version=F("run__version")) | forks)
    states = kept.filter(run=OuterRef("run"), state_version=OuterRef("version"))
    return Checkpoint.objects.filter(~Exists(states), ~forks, version__lt=F("run__version"))


def _frozen() -> QuerySet[Frozen]:
    """All but those of the step at which a failed run stands.

    Without them a retry's effects, sent long ago, could meet other arguments than they were sent with.
    """
    stands = Q(run__state=RunState.FAILED.value, step=F("run__step"), visit=F("run__visit"))
    return Frozen.objects.exclude(stands)


def _payloads() -> QuerySet[SealKey]:
    """All but those of runs whose fork still has its own: wherever it comes by, it is answered by their receipts."""
    forks = Exists(SealKey.objects.filter(run__parent=OuterRef("run"), wrapped__isnull=False))
    return SealKey.objects.filter(~forks, wrapped__isnull=False)


def _messages() -> QuerySet[Message]:
    """All but those of branches that a fork has gone on from: it refers to them."""
    return Message.objects.filter(~Exists(Branch.objects.filter(parent=OuterRef("branch"))))
