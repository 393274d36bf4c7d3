"""Compensation: what a run's way back undoes, in which order, how far it is, what it can't undo and why; and the runs
that have gone, or are on, that way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.urls import reverse

from approvals.queries import actors, effects, pages, words
from durable import tools
from durable.clock import db_now
from durable.errors import InterlockError
from durable.models import Effect, LedgerEvent, Run
from durable.states import EffectState, EventKind, RunState

#: The states whose runs the list shows, as its chips name them.
LISTED = (RunState.PARTLY_COMPENSATED, RunState.COMPENSATING, RunState.COMPENSATED)
UNDOING = frozenset(LISTED)
#: From here a run can be sent on its way back; from the others it gets there by a cancellation.
_STARTS = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED})
#: More effects of one run than this are counted, not listed.
SHOWN = 200
_COLUMNS = ("id", "ref", "agent", "input", "state", "changed_at", "ended_at")
_ASKED = (EventKind.COMPENSATION_ASKED, EventKind.CANCEL_ASKED, EventKind.VERDICT)
#: What the ledger says of an effect that was not undone, in words.
_HOW = {
    "not undoable": "No undo is declared for it: what it did stays done",
    "stopped": "Not tried: the undo of something that it depends on did not succeed",
    "refused": "People said no to its undo",
    "failed": "The vendor refused its undo for good",
}


def page(run: Run) -> dict[str, Any]:
    """Everything that compensation.html shows but its acts. `run` comes from `access.get_run`."""
    rows = _rows(run)
    undos = {row["undo_of_id"]: row for row in rows if row["undo_of_id"] is not None}
    forward = [row for row in rows if row["undo_of_id"] is None and row["state"] == EffectState.APPLIED]
    forward.sort(key=lambda row: row["applied_no"] or 0, reverse=True)
    told = _by_run([run.ref]).get(run.ref, [])
    how = {key: body["how"] for kind, key, body, _ in told if kind == EventKind.NOT_UNDOABLE}
    closed = {key: actor for kind, key, _, actor in told if kind == EventKind.SETTLED}
    who = actors.names([*closed.values(), *(actor for *_, actor in told)])
    state = RunState(run.state)
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
    left = [item for item in items if item["left"]]
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
        "more": max(len(rows) - SHOWN, 0),
        "sentence": _sentence(state, items, left),
        "owner": _owner(told, who),
        "sums": _sums(items),
        "version": pages.version(run.state, items),
        "now": db_now(),
    }


def _rows(run: Run) -> list[pages.Row]:
    """What a run has applied, and its undos; a thousand at most."""
    found = Effect.objects.filter(run=run)
    applied = found.filter(undo_of=None, state=EffectState.APPLIED.value).order_by("-applied_no")
    undos = found.filter(undo_of__isnull=False).order_by("-id")
    columns = effects.COLUMNS
    return [*applied.values(*columns)[: SHOWN + 1], *undos.values(*columns)[: SHOWN + 1]]


def _item(
    place: int, row: pages.Row, undo: pages.Row | None, state: RunState, how: str, closed_by: str
) -> dict[str, Any]:
    look, note, left = _standing(row, undo, state, how)
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


def _standing(row: pages.Row, undo: pages.Row | None, state: RunState, how: str) -> tuple[str, str, bool]:
    """How one effect stands on the way back: the word whose look it has, a sentence, and whether it stays undone."""
    ended = state in (RunState.COMPENSATED, RunState.PARTLY_COMPENSATED)
    if undo is not None:
        return _by_undo(undo, ended=ended)
    if how:
        return "not undoable", f"{_HOW.get(how, how)}.", True
    look, note, can = _would(row)
    if state is RunState.COMPENSATING:
        return ("queued", f"Its turn comes. {note}", False) if can else (look, note, True)
    if ended:
        return "not undoable", note if not can else "The ledger knows of no undo of it.", True
    return look, note, not can


def _by_undo(undo: pages.Row, *, ended: bool) -> tuple[str, str, bool]:
    state = EffectState(undo["state"])
    if state is EffectState.APPLIED:
        return "compensated", f"Undone, by {undo['receipt_id']}.", False
    if state is EffectState.GATED:
        return "gated", "Its undo waits for people's answer.", False
    if state is EffectState.IN_DOUBT:
        return "in doubt", "Nobody can tell yet whether its undo happened; nothing goes on over that.", False
    if state is EffectState.FAILED:
        return (
            "failed",
            f"The vendor refused its undo for good: {undo['failure'] or 'no reason given'}.",
            True,
        )
    if state in (EffectState.REJECTED, EffectState.EXPIRED, EffectState.WITHDRAWN):
        verb = {"rejected": "People said no to", "expired": "Nobody decided in time on"}
        return state.value, f"{verb.get(state.value, 'Nobody lets out any more')} its undo.", True
    return state.value, "Its undo is on its way.", ended


def _would(row: pages.Row) -> tuple[str, str, bool]:
    """What undoing it would do, by the tool as it is declared now."""
    try:
        act = tools.get(row["tool"]).undo_act
    except InterlockError:
        return "code missing", "Its tool is not known any more, so nobody knows how to undo it.", False
    if act is None:
        return "not undoable", f"{_HOW['not undoable']}.", False
    gated = " People are asked first." if act.effect_class == "irreversible" else ""
    rest = f" Not if the undo of {' or '.join(act.depends_on)} fails." if act.depends_on else ""
    return "compensating", f"Undone by {act.name}.{gated}{rest}", True


def _sentence(state: RunState, items: Sequence[Mapping[str, Any]], left: Sequence[Any]) -> str:
    done = sum(1 for item in items if item["undone"])
    lost = sum(1 for item in items if item["lost"])
    if not items:
        return "Nothing was applied: there is nothing to undo."
    if state not in UNDOING:
        stays = f"; {lost} can't be undone" if lost else ""
        return f"{_counted(len(items) - lost - done)} would be undone, the last applied first{stays}."
    if state is RunState.COMPENSATING:
        return f"{done} of {len(items)} undone so far, the last applied first."
    if state is RunState.COMPENSATED:
        return "All that it did has been undone."
    rest = f"{_counted(len(left))} still to be seen to by a person" if left else "all of it seen to by hand"
    return f"{done} of {len(items)} undone; {lost} stayed done, {rest}. Software does nothing more about this run."


def _counted(number: int) -> str:
    return f"{number} effect{'' if number == 1 else 's'}"


def _owner(told: Iterable[tuple[str, str, dict[str, Any], str]], who: Mapping[str, str]) -> str:
    """Who asked for the way back last, and so looks at what is left of it. Empty before anybody has."""
    asked = [
        actor
        for kind, _, body, actor in told
        if kind in _ASKED and (kind != EventKind.VERDICT or body.get("verdict") == "undo")
    ]
    return who.get(asked[-1], asked[-1]) if asked else ""


def _sums(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Money by currency: undone, still to undo, and what stays moved."""
    found: dict[str, dict[str, int]] = {}
    for item in items:
        if item["minor"] is not None:
            sums = found.setdefault(item["currency"], {"undone": 0, "ahead": 0, "lost": 0})
            sums["undone" if item["undone"] else "lost" if item["lost"] else "ahead"] += item["minor"]
    return [{"currency": currency, **sums} for currency, sums in sorted(found.items())]


def listing(state: str, *, after: int | None, before: int | None) -> dict[str, Any]:
    """One page of runs on their way back or at its end. See compensation_list.html."""
    wanted = state if state in {listed.value for listed in LISTED} else RunState.PARTLY_COMPENSATED.value
    found = Run.objects.filter(state=wanted)
    shown = pages.page(found.values(*_COLUMNS), after=after, before=before)
    events = _by_run([row["ref"] for row in shown.rows])
    who = actors.names(actor for told in events.values() for *_, actor in told)
    rows = [_listed(row, events.get(row["ref"], []), who) for row in shown.rows]
    return {
        "runs": rows,
        "page": shown.context(pages.count(found)),
        "state": wanted,
        "version": pages.version(rows),
        "now": db_now(),
    }


def chips(state: str) -> list[dict[str, Any]]:
    """The three lists with their counts; one query."""
    counts = pages.counts([Run.objects.filter(state=listed.value) for listed in LISTED])
    return [
        {"label": listed.value.capitalize(), "query": f"state={listed.value.replace(' ', '+')}",
         "count": pages.words(count), "current": listed.value == state}
        for listed, count in zip(LISTED, counts, strict=True)
    ]  # fmt: skip


def _by_run(refs: Sequence[str]) -> dict[str, list[tuple[str, str, dict[str, Any], str]]]:
    kinds = (EventKind.NOT_UNDOABLE, EventKind.SETTLED, *_ASKED)
    rows = LedgerEvent.objects.filter(run_ref__in=refs, kind__in=[kind.value for kind in kinds])
    found: dict[str, list[tuple[str, str, dict[str, Any], str]]] = {}
    for ref, kind, key, body, actor in rows.order_by("run_ref", "no").values_list(
        "run_ref", "kind", "effect_key", "body", "actor"
    ):
        found.setdefault(ref, []).append((kind, key, json.loads(body), actor))
    return found


def _listed(
    row: pages.Row, told: Sequence[tuple[str, str, dict[str, Any], str]], who: Mapping[str, str]
) -> dict[str, Any]:
    lost = {key: body["how"] for kind, key, body, _ in told if kind == EventKind.NOT_UNDOABLE}
    closed = {key for kind, key, _, _ in told if kind == EventKind.SETTLED}
    left = [key for key in lost if key not in closed]
    why = sorted({_HOW.get(how, how) for how in lost.values()})
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
