"""What was erased, for pages, searches, and the list that is kept outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from durable import erasure_list
from durable.models import Erasure, ErasureRun, SealKey
from durable.states import ErasureState


@dataclass(frozen=True, slots=True)
class Told:
    """That a run's data is erased: since when, why, and by which erasure; without a reason where no act says so."""

    at: datetime
    reason: str = ""
    erasure: int | None = None


def lines() -> Iterator[str]:
    """The list of all that this database has erased, as the file outside has it."""
    for erasure in Erasure.objects.order_by("pk").iterator():
        refs = ErasureRun.objects.filter(erasure=erasure, state=ErasureState.ERASED.value).order_by("pk")
        if names := list(refs.values_list("run__ref", flat=True)):
            yield erasure_list.written(line(erasure, names))


def told(ids: Iterable[int]) -> dict[int, Told]:
    """When and why the data of those of these runs (by number) was erased. One query where none was, else two."""
    wanted = list(ids)
    keys = SealKey.objects.filter(run__in=wanted, destroyed_at__isnull=False)
    found = {run: Told(at) for run, at in keys.values_list("run_id", "destroyed_at") if at is not None}
    if not found:  # nothing is erased whose key is there
        return {}
    rows = ErasureRun.objects.filter(run__in=list(found), state=ErasureState.ERASED.value).order_by("-pk")
    for run, at, reason, erasure in rows.values_list("run_id", "at", "erasure__reason", "erasure_id"):
        if at is not None:
            found[run] = Told(at, reason, erasure)
    return found


def of_subjects(hashes: Sequence[str]) -> list[Erasure]:
    """The erasures of whoever is called so, by keyed hash, the newest first."""
    return list(Erasure.objects.filter(hashes__overlap=list(hashes)).order_by("-pk"))


def line(erasure: Erasure, refs: Sequence[str]) -> erasure_list.Line:
    """A family of runs as a line of the list."""
    return erasure_list.Line(
        erasure.pk, erasure.kinds, erasure.hashes, erasure.reason, erasure.reference, refs
    )
