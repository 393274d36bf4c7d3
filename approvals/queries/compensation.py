"""Compensation: what a run's way back undoes, in which order, how far it is, what it can't undo and why; and the runs
that have gone, or are on, that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse

from approvals.queries import actors, bodies, effects, pages, undoing, words
from approvals.queries.undoing import Totals
from durable import doubts
from durable.clock import db_now
from durable.models import Effect, LedgerEvent, Run
from durable.states import EffectState, EventKind, RunState

#: The states whose runs the list shows, as its chips name them.
LISTED = (RunState.PARTLY_COMPENSATED, RunState.COMPENSATING, RunState.COMPENSATED)
UNDOING = frozenset(LISTED)
#: From here a run can be sent on its way back; from the others it gets there by a cancellation.
_STARTS = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED})
#: More effects of one run than this are counted, not listed.
SHOWN = 100
_COLUMNS = ("id", "ref", "agent", "input", "state", "changed_at", "ended_at")
_ASKED = (EventKind.COMPENSATION_ASKED, EventKind.CANCEL_ASKED, EventKind.VERDICT)
_ASKED_VALUES = [kind.value for kind in _ASKED]
_LOST_VALUES = [EventKind.NOT_UNDOABLE.value, EventKind.SETTLED.value]
#: Kind, key of the effect, body, actor.
Told = tuple[str, str, dict[str, Any], str]


def page(run: Run, now: datetime | None = None) -> dict[str, Any]:
    """Everything that compensation.html shows but its acts. `run` comes from `access.get_run`."""
    state = RunState(run.state)
    rows = _rows(run)
    undos = {row["undo_of_id"]: row for row in rows if row["undo_of_id"] is not None}
    forward = [row for row in rows if row["undo_of_id"] is None][:SHOWN]
    # Before the way back is begun the ledger knows nothing of it.
    told = _told(run, [row["key"] for row in forward]) if state in UNDOING else []
    how = {key: str(body.get("how", "")) for kind, key, body, _ in told if kind == EventKind.NOT_UNDOABLE}
    closed = {key: actor for kind, key, _, actor in told if kind == EventKind.SETTLED}
    who = actors.names(actor for *_, actor in told)
    items = [
        _item(
            place,
            row,
            undos.get(row["id"]),
            state,
            how.get(row["key"], ""),
            who.get(closed.get(row["key"], ""), ""),
        )
        for place, row in enumerate(forward, start=1)
    ]
    left = [item["key"] for item in items if item["left"]]
    seen = doubts.standings(left) if left else {}
    for item in items:
        item["close"]["hidden"]["seen"] = seen.get(item["key"], "")
    whole = undoing.totals(run, told=state in UNDOING)
    return {
        "run": {
            "id": run.ref,
            "agent": run.agent,
            "subject": words.subject(run.input),
            "state": run.state,
            "ended_at": run.ended_at,
            "preview": state not in UNDOING,
            "may_start": state in _STARTS,
            "moving": state is RunState.COMPENSATING,
        },
        "items": items,
        "more": max(whole.count - len(items), 0),
        "sentence": _sentence(state, whole),
        "owner": _owner(told, who),
        "sums": whole.sums(),
        "version": pages.version(run.state, items, whole.groups),
        "now": now or db_now(),
    }


def _rows(run: Run) -> list[pages.Row]:
    """What a run has applied, the last first, so many as are listed; then the undos of those, in one query."""
    applied = Effect.objects.filter(run=run, undo_of=None, state=EffectState.APPLIED.value).order_by(
        "-applied_no"
    )
    last = applied[: SHOWN + 1]
    undos = Effect.objects.filter(run=run, undo_of__in=last.values("pk"))
    rows = last.values(*effects.COLUMNS).union(undos.values(*effects.COLUMNS), all=True)
    # A doubt that was settled by a new undo leaves two of one effect: the newer one counts.
    return sorted(rows, key=lambda row: (row["undo_of_id"] is not None, -(row["applied_no"] or 0), row["id"]))


def _item(
    place: int, row: pages.Row, undo: pages.Row | None, state: RunState, how: str, closed_by: str
) -> dict[str, Any]:
    look, note, left = undoing.standing(row, undo, state, how)
    if left and closed_by:
        note = f"{note} Seen to by hand, by {closed_by}."
    return {
        "place": place,
        "key": row["key"],
        "undo_key": undo["key"] if undo is not None else "",
        "title": words.title(row["tool"], row["amount_minor"], row["currency"]),
        "minor": row["amount_minor"],
        "currency": row["currency"],
        "at": row["settled_at"],
        "receipt": row["receipt_id"],
        "state": look,
        "note": note,
        "left": left and not closed_by,
        "lost": left,
        "undone": look == "compensated",
        "close": {
            "id": f"close-{place}",
            "url": reverse("verdicts", args=[row["key"]]),
            "label": "Seen to by hand",
            "icon": "check",
            "kind": "",
            "title": f"Seen to by hand: {words.title(row['tool'], row['amount_minor'], row['currency'])}",
            "preview": [
                "Nothing is sent, and the effect stays as it is.",
                "Your words are kept: this is seen to.",
            ],
            "reason": "required",
            "reason_label": "What was done about it, and how can that be proven?",
            "hidden": {"verdict": "acknowledge"},
            "fields": [],
            "verb": "Record it",
        },
    }


def _sentence(state: RunState, whole: Totals) -> str:
    if not whole.count:
        return "Nothing was applied: there is nothing to undo."
    if state not in UNDOING:
        stays = f"; {whole.lost:,} can't be undone" if whole.lost else ""
        ahead = whole.count - whole.lost - whole.undone
        return f"{_counted(ahead)} would be undone, the last applied first{stays}."
    if state is RunState.COMPENSATING:
        return f"{whole.undone:,} of {whole.count:,} undone so far, the last applied first."
    if state is RunState.COMPENSATED:
        return "All that it did has been undone."
    rest = (
        f"{_counted(whole.left)} still to be seen to by a person"
        if whole.left
        else "all of it seen to by hand"
    )
    done = f"{whole.undone:,} of {whole.count:,} undone; {whole.lost:,} stayed done"
    return f"{done}, {rest}. Software does nothing more about this run."


def _counted(number: int) -> str:
    return f"{number:,} effect{'' if number == 1 else 's'}"


def _owner(told: Iterable[Told], who: Mapping[str, str]) -> str:
    """Who asked for the way back last, and so looks at what is left of it. Empty before anybody has."""
    asked = [
        actor
        for kind, _, body, actor in told
        if kind in _ASKED and (kind != EventKind.VERDICT or body.get("verdict") == "undo")
    ]
    return who.get(asked[-1], asked[-1]) if asked else ""


def listing(state: str, *, after: int | None, before: int | None) -> dict[str, Any]:
    """One page of runs on their way back or at its end. See compensation_list.html."""
    wanted = next((listed for listed in LISTED if listed.value == state), RunState.PARTLY_COMPENSATED)
    shown = pages.page(_of(wanted).values(*_COLUMNS), after=after, before=before)
    refs = [row["ref"] for row in shown.rows]
    events = _by_run(LedgerEvent.objects.filter(run_ref__in=refs, kind__in=_ASKED_VALUES + _LOST_VALUES))
    who = actors.names(actor for told in events.values() for *_, actor in told)
    rows = [_listed(row, events.get(row["ref"], []), who) for row in shown.rows]
    numbers = dict(zip(LISTED, pages.counts([_of(state) for state in LISTED]), strict=True))
    filters = _chips(wanted, numbers)
    return {
        "runs": rows,
        "page": shown.context(numbers[wanted]),
        "state": wanted.value,
        "filters": filters,
        "version": pages.version(rows, filters),
        "now": db_now(),
    }


def _of(state: RunState) -> QuerySet[Run]:
    return Run.objects.filter(state=state.value)


def _chips(state: RunState, numbers: Mapping[RunState, int]) -> list[dict[str, Any]]:
    """The three lists with their counts."""
    return [
        {"label": listed.value.capitalize(), "query": f"state={listed.value.replace(' ', '+')}",
         "count": pages.words(count), "current": listed is state}
        for listed, count in numbers.items()
    ]  # fmt: skip


def _told(run: Run, keys: Sequence[str]) -> list[Told]:
    """What the ledger tells of a run's way back: who asked for it, and what became of these effects."""
    told = Q(kind__in=_ASKED_VALUES) | Q(kind__in=_LOST_VALUES, effect_key__in=keys)
    return _by_run(LedgerEvent.objects.filter(told, run_ref=run.ref)).get(run.ref, [])


def _by_run(found: QuerySet[LedgerEvent]) -> dict[str, list[Told]]:
    told: dict[str, list[Told]] = {}
    for ref, kind, key, body, actor in found.order_by("run_ref", "no").values_list(
        "run_ref", "kind", "effect_key", "body", "actor"
    ):
        told.setdefault(ref, []).append((kind, key, bodies.said(body), actor))
    return told


def _listed(row: pages.Row, told: Sequence[Told], who: Mapping[str, str]) -> dict[str, Any]:
    lost = {key: str(body.get("how", "")) for kind, key, body, _ in told if kind == EventKind.NOT_UNDOABLE}
    closed = {key for kind, key, _, _ in told if kind == EventKind.SETTLED}
    left = [key for key in lost if key not in closed]
    why = sorted({undoing.HOW.get(how, how) for how in lost.values()})
    return {
        "id": row["ref"],
        "agent": row["agent"],
        "subject": words.subject(row["input"]),
        "state": row["state"],
        "left": len(left),
        "why": "; ".join(why) + "." if why else "",
        "owner": _owner(told, who),
        "at": row["ended_at"] or row["changed_at"],
    }
