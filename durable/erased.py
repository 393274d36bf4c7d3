"""What was erased, or went by the retention policy, for pages, searches, and the list that is kept outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from durable import erasure_list
from durable.models import Cut, Erasure, ErasureRun, LedgerEvent, SealKey
from durable.states import ErasureState, EventKind


@dataclass(frozen=True, slots=True)
class Told:
    """That a run's data is gone, and since when: erased, why and by which erasure; or `pruned`, by the retention
    policy. Neither where the ledger does not say.
    """

    at: datetime
    reason: str = ""
    erasure: int | None = None
    pruned: bool = False


def lines() -> Iterator[str]:
    """The list of all that this database has erased, as the file outside has it."""
    for erasure in Erasure.objects.order_by("pk").iterator():
        refs = ErasureRun.objects.filter(erasure=erasure, state=ErasureState.ERASED.value).order_by("pk")
        if names := list(refs.values_list("run__ref", flat=True)):
            yield erasure_list.written(line(erasure, names))


def told(ids: Iterable[int]) -> dict[int, Told]:
    """When and why the data of those of these runs (by number) went. One query where none has, else two."""
    keys = SealKey.objects.filter(run__in=list(ids), destroyed_at__isnull=False).annotate(pruned=_pruned())
    rows = keys.values_list("run_id", "destroyed_at", "pruned")
    found = {run: Told(at, pruned=pruned) for run, at, pruned in rows if at is not None}
    if not found:  # nothing is erased whose key is there
        return {}
    mine = ErasureRun.objects.filter(run__in=list(found), state=ErasureState.ERASED.value).order_by("-pk")
    for run, at, reason, erasure in mine.values_list("run_id", "at", "erasure__reason", "erasure_id"):
        if at is not None:
            found[run] = Told(at, reason, erasure)
    return found


def _pruned() -> Q:
    """Whether retention says to have taken the key in the outer query. A cut of the ledger, its own act too, may have
    taken the event that says so.
    """
    events = LedgerEvent.objects.filter(run_ref=OuterRef("run__ref"), kind=EventKind.PRUNED.value)
    cuts = Cut.objects.filter(run_ref=OuterRef("run__ref"))
    return Q(Exists(events.filter(body__contains='"payloads":'))) | Q(Exists(cuts))


def of_subjects(hashes: Sequence[str]) -> list[Erasure]:
    """The erasures of whoever is called so, by keyed hash, the newest first."""
    return list(Erasure.objects.filter(hashes__overlap=list(hashes)).order_by("-pk"))


def line(erasure: Erasure, refs: Sequence[str]) -> erasure_list.Line:
    """A family of runs as a line of the list."""
    return erasure_list.Line(
        erasure.pk, erasure.kinds, erasure.hashes, erasure.reason, erasure.reference, refs
    )
