"""Who asks for an erasure of a person's data, and who agrees: what is shown first, and then goes, is the same.

Above a limit (`alone.too_many`) it takes two people: the first who asks proposes it, and it is due once another person
asks for the same. Nothing that is kept names the person whose data it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.module_loading import import_string

from durable import acts, alone, concerned, erasure_list, holds, runs
from durable.beats import committing
from durable.concerned import Called, Found
from durable.errors import Conflict, Invalid, Moved, NotFound
from durable.models import Erasure, ErasureRun, HeldRun, LegalHold, Run
from durable.models.fields import Clock
from durable.states import ActKind, EraseReason, ErasureState

#: Of what is kept beside runs, the kind that comes and goes by itself: files that were made for somebody to take.
FILES = "files"
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
    beside: Mapping[str, Sequence[int]] | None = None,
) -> Erasure:
    """Have a person's data erased, as `concerned.find` has shown it (`seen`); returns the erasure, not begun yet. Where
    it takes two people, it is `proposed` first: it goes once another person asks for the same.

    `others` says what becomes of runs that name others of the same kind as well: `erase` or `leave`. `beside` has the
    numbers of what others than the engine keep that names the person, as it was shown with the runs: it goes in the
    commit by which the erasure becomes due, or once no legal hold keeps a run of theirs. Raises Moved where it is not
    what was seen any more, Invalid without reason, where nothing is left to erase, or where `others` is to be said and
    is not, Conflict for whoever would agree with themselves. Nothing that is kept names the person.
    """
    runs.check_actor(actor)
    _check(called, reason, reference)
    found = replace(concerned.find(called, thoroughly=thoroughly), beside=beside or {})
    if found.seen != seen:
        raise Moved("what has to do with this person has changed since your page was made")
    wanted, spared = _chosen(found, others)
    known = not holds.find_again()
    with committing("command"):
        holds.fence()
        before = list(proposals(called).select_for_update())
        same = next((one for one in before if _listed(one) == (wanted, spared, _lasting(found.beside))), None)
        if same is not None and alone.too_many(len(wanted)):
            erasure = _agree(same, actor, found.beside)
        else:
            whose = {
                "kinds": [one.kind for one in found.called],
                "hashes": [one.hash for one in found.called],
            }
            told = {"reason": EraseReason(reason).value, "reference": reference, "actor": actor}
            erasure = _new(wanted, spared, beside=found.beside, **whose, **told)
        for one in before:
            if one.pk != erasure.pk:
                _withdraw(one, actor)
        if not erasure.proposed and known:
            forget_beside(erasure)
    erasure.refresh_from_db()
    return erasure


def _chosen(found: Found, others: str) -> tuple[set[int], set[int]]:
    """The runs that are to be erased, and those that are left because they name others as well. Raises Invalid."""
    left = [one for one in found.runs if one.gone is None]
    if not left:
        raise Invalid("names", "no run holds anything of theirs (any more)")
    if found.others and others not in ("erase", "leave"):
        raise Invalid("others", "say whether runs that name others as well are erased or left")
    spared = {one.id for one in left if one.others and others == "leave"}
    return {one.id for one in left} - spared, spared


def _new(wanted: set[int], spared: set[int], **facts: Any) -> Erasure:
    """Write an erasure down with these facts: due at once, or once a second person has asked for the same."""
    second = alone.too_many(len(wanted))
    erasure = Erasure.objects.create(**facts, second=second, due_at=None if second else Clock())
    _list(erasure, wanted | spared, spared)
    told: dict[str, Any] = {"runs": len(wanted), "left": len(spared)} | _counted(erasure.beside)
    log(erasure, ActKind.ERASURE_ASKED, told | ({"second": True} if second else {}))
    return erasure


def proposals(called: Iterable[Called]) -> QuerySet[Erasure]:
    """The erasures of whoever has exactly these names that wait for a second person, the newest first."""
    hashes = sorted({one.hash for one in called})
    waiting = Erasure.objects.filter(second=True, agreed_by="", withdrawn_at=None)
    return waiting.filter(hashes__contains=hashes, hashes__contained_by=hashes).order_by("-pk")


def forget_beside(erasure: Erasure) -> bool:
    """Have forgotten what others than the engine keep of the person, unless a legal hold keeps a run of theirs. True
    where nothing of it is left.

    In the caller's transaction, behind `holds.fence`; the erasure is locked, and searches of holds were just resolved.
    """
    if erasure.beside_at is not None:
        return True
    theirs = ErasureRun.objects.filter(erasure=erasure).values("run")
    if HeldRun.objects.filter(run__in=theirs).exists():
        return False
    if LegalHold.objects.filter(hash__in=erasure.hashes, lifted_at=None).exists():
        return False
    for path in settings.INTERLOCK_FORGET:
        import_string(path)(erasure)
    Erasure.objects.filter(pk=erasure.pk).update(beside_at=Clock())
    return True


def _lasting(beside: Mapping[str, Sequence[int]] | None) -> dict[str, list[int]]:
    """What two people must have been shown alike; files come and go by themselves, and go all."""
    return {kind: sorted(pks) for kind, pks in (beside or {}).items() if pks and kind != FILES}


def _counted(beside: Mapping[str, Sequence[int]] | None) -> dict[str, Any]:
    """What the log says of it."""
    return {"beside": {kind: len(pks) for kind, pks in beside.items()}} if beside else {}


def _listed(erasure: Erasure) -> tuple[set[int], set[int], dict[str, list[int]]]:
    """The runs that an erasure erases, those that it leaves, and what goes beside them."""
    rows = ErasureRun.objects.filter(erasure=erasure).values_list("run", "state")
    left = {run for run, state in rows if state == ErasureState.LEFT.value}
    return {run for run, _ in rows} - left, left, _lasting(erasure.beside)


def _agree(erasure: Erasure, actor: str, beside: Mapping[str, Sequence[int]]) -> Erasure:
    """Let a proposed erasure, locked, go by a second person's say, who was shown what goes `beside` it now."""
    if alone.same_person(erasure.actor, actor):
        raise Conflict("you have asked for this yourself; another person who may erase must ask for the same")
    erasure.agreed_by, erasure.beside = actor, dict(beside)
    Erasure.objects.filter(pk=erasure.pk).update(
        agreed_by=actor, agreed_at=Clock(), due_at=Clock(), beside=erasure.beside
    )
    log(erasure, ActKind.ERASURE_AGREED, {"asked_by": erasure.actor}, actor)
    return erasure


def withdraw(pk: int, *, actor: str) -> None:
    """Take back an erasure that waits for a second person: nothing of it goes. Raises NotFound, Conflict."""
    runs.check_actor(actor)
    with committing("command"):
        erasure = Erasure.objects.select_for_update().filter(pk=pk).first()
        if erasure is None:
            raise NotFound(f"no erasure {pk}")
        if not erasure.proposed:
            raise Conflict(f"erasure {pk} waits for nobody: nothing about it can be taken back")
        _withdraw(erasure, actor)


def _withdraw(erasure: Erasure, actor: str) -> None:
    Erasure.objects.filter(pk=erasure.pk).update(withdrawn_by=actor, withdrawn_at=Clock())
    waiting = ErasureRun.objects.filter(erasure=erasure, state=ErasureState.WAITING.value)
    waiting.update(state=ErasureState.LEFT.value, why="it was withdrawn before anybody had agreed")
    log(erasure, ActKind.ERASURE_WITHDRAWN, {"asked_by": erasure.actor}, actor)


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


def log(erasure: Erasure, what: ActKind, body: dict[str, Any], actor: str = "") -> None:
    """Log an act on an erasure, in the caller's transaction: by default of whoever has asked for it."""
    acts.record(
        what,
        actor=actor or erasure.actor,
        about=acts.about("erasure", erasure.pk),
        body={
            "kinds": erasure.kinds,
            "subjects": erasure.hashes,
            "why": erasure.reason,
            "reference": erasure.reference,
            **body,
        },
    )


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
                kinds=list(kinds), hashes=list(hashes), reason=reason, reference=reference, actor=actor,
                beside_at=Clock(),  # what it was is not in the list, which names nobody
            )  # fmt: skip
            _list(erasure, ids)
            log(erasure, ActKind.ERASURE_ASKED, {"runs": len(ids), "left": 0, "again": True})
            made.append(erasure)
    return made
