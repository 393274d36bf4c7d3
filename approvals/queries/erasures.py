"""Erasures as pages show them: what one would do, what has been asked for, how far it is; and what pages say of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Count

from approvals import erasure_beside, moments, opened
from approvals.erasure_beside import Kept
from approvals.erasures import Look
from approvals.ledger_query import LedgerQuery
from approvals.queries import actors, pages, subjects
from approvals.queries.pages import Row
from durable import alone, erased, erasure_orders, vault
from durable.concerned import One
from durable.erased import Told
from durable.erasure_orders import FILES
from durable.models import Erasure, ErasureRun, Run
from durable.states import ErasureState

#: Runs of each kind that a page lists; the counts are of all of them.
SHOWN = 50


def shown(look: Look, actor: str) -> dict[str, Any]:
    """What an erasure would do, before anything is done, and whether this person's word is enough for it."""
    found = look.found
    asked = erasure_orders.proposals(found.called).first()
    by = "" if asked is None else asked.actor
    names = {one.hash: subjects.name_of(one.hash) for one in found.others[:SHOWN]}
    who = actors.names([*filter(None, [by]), *(one.who for one in look.kept[:SHOWN])])
    return {
        "seen": found.seen,
        "called": [{"kind": one.kind, "text": one.text} for one in found.called],
        "runs": [_run(one) for one in [*found.now, *found.later][:SHOWN]],
        "at_once": len(found.now),
        "later": len(found.later),
        "before": len(found.before),
        "total": len(found.now) + len(found.later),
        "holds": found.holds,
        "others": [
            {"kind": one.kind, "name": names.get(one.hash, ""), "runs": one.runs}
            for one in found.others[:SHOWN]
        ],
        "others_total": len(found.others),
        "two": alone.too_many(len(found.now) + len(found.later)),
        "proposed": asked,
        "proposed_by": who.get(by, ""),
        "own": by == actor,
        "others_runs": len([one for one in found.runs if one.others and one.gone is None]),
        "beside": [_beside(one, who) for one in look.kept[:SHOWN]],
        "beside_total": len(look.kept),
        "beside_waits": any(one.held for one in found.runs),
    }


#: What each kind of it is called, and what becomes of it. Of legal holds each part is a kind.
_BESIDE = {
    erasure_beside.WORDS: ("What was written in the log", "nobody can read it any more"),
    erasure_beside.VIEWS: ("A saved view", "deleted"),
    erasure_beside.QUERIES: ("The search of an act on many runs", "emptied"),
    erasure_beside.REASONS: ("The reason of an act on many runs", "emptied"),
    erasure_beside.STOPS: ("Why a stop was ordered", "emptied"),
    erasure_beside.RESTORES: ("Why a restore was begun", "emptied"),
    FILES: ("A file made for somebody to take", "deleted, with all others that there are then"),
}
_OF_HOLD = ("What was written about a legal hold", "emptied, if the hold is lifted by then")


def _beside(one: Kept, who: Mapping[str, str]) -> Row:
    name, fate = _BESIDE.get(one.kind, _OF_HOLD)
    about = one.about if one.kind in _BESIDE else f"hold {one.pk}: {one.kind.partition(' ')[2]}"
    return {"name": name, "fate": fate, "who": who[one.who], "about": about, "at": one.at}


def _run(one: One) -> Row:
    return {
        "ref": one.ref,
        "agent": one.agent,
        "state": one.state,
        "ended_at": one.ended_at,
        "effects": one.effects,
        "why": one.why,
        "others": len(one.others),
    }


def listing(*, after: int | None, before: int | None) -> dict[str, Any]:
    """The erasures that were asked for, newest first."""
    found = Erasure.objects.values(
        "id", "kinds", "reason", "reference", "actor", "asked_at", "done_at", "second", "agreed_by", "withdrawn_at"
    )  # fmt: skip
    page = pages.page(found, after=after, before=before)
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    states = ErasureRun.objects.filter(erasure__in=[row["id"] for row in page.rows]).order_by()
    for erasure, state, number in states.values_list("erasure", "state").annotate(Count("pk")):
        counts[erasure][state] = number
    who = actors.names([row["actor"] for row in page.rows])
    rows = [
        {**row, "by": who[row["actor"]]}
        | {state.value: counts[row["id"]].get(state.value, 0) for state in ErasureState}
        for row in page.rows
    ]
    shown = page.context(pages.count(Erasure.objects.all()))
    return {"erasures": rows, "page": shown, "version": pages.version(rows, shown)}


def detail(erasure: Erasure, actor: str) -> dict[str, Any]:
    """One erasure, and what has become of its runs: those first that wait."""
    counts = dict(
        ErasureRun.objects.filter(erasure=erasure)
        .values_list("state")
        .annotate(Count("pk"))
        .order_by("state")
    )
    mine = ErasureRun.objects.filter(erasure=erasure).select_related("run")
    runs: list[ErasureRun] = []
    for state in ErasureState:
        if len(runs) < SHOWN:
            runs += mine.filter(state=state.value).order_by("pk")[: SHOWN - len(runs)]
    who = actors.names(list(filter(None, (erasure.actor, erasure.agreed_by, erasure.withdrawn_by))))
    return {
        "erasure": erasure,
        "by": who[erasure.actor],
        "agreed_by": who.get(erasure.agreed_by, ""),
        "withdrawn_by": who.get(erasure.withdrawn_by, ""),
        "own": erasure.actor == actor,
        "waiting": counts.get(ErasureState.WAITING.value, 0),
        "erased": counts.get(ErasureState.ERASED.value, 0),
        "left": counts.get(ErasureState.LEFT.value, 0),
        "total": sum(counts.values()),
        "runs": [_item(item) for item in runs],
        "version": pages.version(
            sorted(counts.items()),
            erasure.done_at,
            erasure.due_at is None,
            erasure.beside_at,
            [item.why for item in runs],
        ),
    }


def _item(item: ErasureRun) -> Row:
    went = [f"{count:,} {kind}" for kind, count in item.took.items() if count]
    return {
        "ref": item.run.ref,
        "agent": item.run.agent,
        "state": item.state,
        "why": item.why,
        "at": item.at,
        "took": ", ".join(went),
    }


def sentence(told: Told) -> str:
    """How data was erased: `erased on 30 Nov 2026, the person asked for it`."""
    return f"erased on {moments.day(told.at)}{f', {told.reason}' if told.reason else ''}"


def note(run: Run) -> str:
    """What its pages say of a run whose data is no longer kept; empty for any other, and then no query."""
    return notes([run]).get(run.pk, "")


def notes(runs: Iterable[Run]) -> dict[int, str]:
    """The same for several, by number; those that are kept are left out. `runs` have their keys loaded."""
    gone = {run.pk for run in runs if is_erased(run)}
    told = erased.told(gone) if gone else {}
    return {run: f"The personal data of this run {_fate(told.get(run))}." for run in gone}


def _fate(told: Told | None) -> str:
    """What became of a run's data, in words that follow it: an erasure is told only where there was one."""
    if told is None:
        return "is no longer kept"
    if told.erasure is not None:
        return f"was {sentence(told)}"
    if told.pruned:
        return f"went by the retention policy on {moments.day(told.at)}"
    return f"is gone since {moments.day(told.at)}, and nothing in the ledger says why"


def is_erased(run: Run) -> bool:
    """Whether a run's data is no longer kept, for whatever reason; no query where its key is loaded."""
    try:
        opened.key(run)
    except vault.Erased:
        return True
    except vault.Tampered:
        return False
    return False


def of_query(query: LedgerQuery) -> list[str]:
    """What is said of a whole name that was searched for, and whose bearer's data was erased. A query where one was."""
    hashes = [
        hash for kind, part in query.subjects if part.begins and part.ends
        for hash in subjects.hashes(part.text, [kind] if kind else [])
    ]  # fmt: skip
    hashes += subjects.hashes(query.text) if query.text else []
    found = erased.of_subjects(hashes) if hashes else []
    return [sentence(Told(one.done_at, one.reason, one.pk)) for one in found if one.done_at is not None]
