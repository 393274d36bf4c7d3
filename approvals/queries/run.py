"""One run: why it is where it is, its plan, its money, its effects, and who did what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals.outcomes import moment
from approvals.queries import (
    actors,
    effects,
    erasures,
    events,
    pages,
    run_waits,
    spend,
    tally,
    timeline,
    words,
)
from approvals.queries.spend import Spend
from approvals.queries.tally import Tally
from approvals.templatetags.interlock import span
from durable import plan, standing
from durable.errors import InterlockError
from durable.models import Budget, Checkpoint, LedgerEvent, Purse, Run
from durable.standing import Standing
from durable.states import ENDED, FINAL, CheckpointKind, EffectState, RunState
from durable.text import quoted

#: What a checkpoint was written for, in words.
_AFTER = {
    CheckpointKind.START: "the start",
    CheckpointKind.STEP: "{step}",
    CheckpointKind.SUSPEND: "{step} suspended",
    CheckpointKind.EDIT: "the state was edited",
    CheckpointKind.SKIP: "{step} was skipped",
    CheckpointKind.FORK: "the fork",
    CheckpointKind.END: "the end",
}
_UNDOING = frozenset({RunState.COMPENSATING, RunState.COMPENSATED, RunState.PARTLY_COMPENSATED})


#: Newest checkpoints that are read, and those of them that are listed; a page of their own has them all.
POINTS, SHOWN_POINTS = 20, 10
POINT_COLUMNS = (
    "version", "kind", "step", "visit", "next_step", "progress", "message_count", "attempt", "budget", "at",
)  # fmt: skip


def version(run: Run, no: int | None, purses: Sequence[Purse]) -> str:
    """Changes whenever the page would: by a ledger event (the newest is `no`), by what is spent. As `access.glance`."""
    budget = run.budget
    spent = (budget.steps_used, budget.tokens_used, budget.tokens_reserved)
    money = sum(one.reserved_minor + 3 * one.spent_minor for one in purses) if purses else None
    stands = (run.state, run.step, run.version, run.attempt, run.held, run.changed_at, run.message_count)
    return pages.version(*stands, no, *spent, money)


@dataclass(frozen=True, slots=True)
class Read:
    """What the page and its acts are made from. `stands` was read first: it is never newer than the rest."""

    run: Run
    stands: Standing
    tally: Tally
    waits: list[pages.Row]
    open_waits: list[pages.Row]
    points: list[pages.Row]
    events: list[LedgerEvent]
    who: dict[str, str]
    spend: Spend
    now: datetime


def read(run: Run, *, log: bool = True) -> Read:
    """Read it all; without `log`, what the acts alone are made from. `run` comes from `access.get_run`.

    Eight queries, however much there is; six without the log, where nobody holds the run.
    """
    stands = standing.of(run)
    waits = run_waits.of(run)
    found, points, lines = tally.of(run), newest_points(run), events.newest(run) if log else []
    who = actors.names([*run_waits.holders(waits), *events.told_of(lines)])
    now, spent = spend.of(run)
    return Read(run, stands, found, waits, run_waits.named(waits, who), points, lines, who, spent, now)


def newest_points(run: Run) -> list[pages.Row]:
    """The newest checkpoints, as they are stored; only the states are left out."""
    found = run.checkpoints.order_by("-version").values(*POINT_COLUMNS)[:POINTS]
    return [dict(row) for row in found]


def detail(found: Read) -> dict[str, Any]:
    """Everything that run_detail.html shows but its acts."""
    run, waits, rows = found.run, found.open_waits, found.tally.rows
    purses = list(Purse.objects.filter(budget=run.budget).order_by("currency"))
    approved = bool(found.tally.some([EffectState.APPROVED]))
    shown = {"step": run.step, "state": run.state, "attempt": run.attempt, "error": run.error}
    return {
        "run": {
            "id": run.ref,
            "agent": run.agent,
            "subject": words.subject(run.input),
            "state": run.state,
            "wait": words.wait_word(waits),
            "why": words.why(shown, waits, approved=approved),
            "more": " ".join(filter(None, [words.more(waits), _more(run)])),
            "version": version(run, found.stands.no, purses),
            "created_at": run.created_at,
            "attempt": run.attempt,
            "requester": quoted(run.requester),
            "ended": RunState(run.state) in FINAL,
        },
        "given": json.dumps(run.input, ensure_ascii=False) if run.input else "",  # nothing, or erased
        "erased": erasures.note(run),
        "result": _result(run),
        "plan": _plan(run, found.points, waits),
        "budget": _gauges(run, purses, found.now),
        "effects": [effects.row(one) for one in rows],
        "effects_words": _effects_words(found.tally),
        "effects_more": found.tally.count - len(rows),
        "checkpoints": [point(one) for one in found.points[:SHOWN_POINTS]],
        "saga": _saga(run, found.tally),
        "timeline": timeline.of(run, found.points, found.waits, rows, found.now),
        "now": found.now,
        "log": events.lines(run, found.events, found.who),
        "log_total": found.stands.no or 0,
        "log_more": (found.stands.no or 0) > len(found.events),
        "message_count": run.message_count,
    }


def _more(run: Run) -> str:
    parts = []
    if run.parent is not None:
        parts.append(f"Forked from {run.parent.ref} at version {run.parent_version}.")
    if _result(run):
        parts.append("It left a result.")
    return " ".join(parts)


def _result(run: Run) -> str:
    """What an ended run has left, as JSON; empty where it left nothing."""
    if RunState(run.state) not in ENDED or run.result is None:
        return ""
    return json.dumps(run.result, ensure_ascii=False)


def _plan(run: Run, points: list[pages.Row], waits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps in the code's order, with how often each was done. Without the code: those that were done."""
    done: dict[str, int] = points[0]["progress"] if points else {}
    try:
        names = list(plan.get(run.agent).steps)
    except InterlockError:
        names = list(dict.fromkeys([*done, run.step] if run.step else done))
    word = words.wait_word(waits) or run.state
    here = names.index(run.step) if run.step in names else 0
    steps = []
    for place, name in enumerate(names):
        visits = done.get(name, 0)
        if name == run.step and RunState(run.state) not in ENDED:
            steps.append({"name": name, "state": word, "note": word, "current": True})
        elif visits:
            note = f"{visits} times" if visits > 1 else "done"
            steps.append({"name": name, "state": "completed", "note": note, "current": False})
        else:
            steps.append({"name": name, **_not_done(run, name, passed=place < here), "current": False})
    return steps


def _not_done(run: Run, name: str, *, passed: bool) -> dict[str, str]:
    """A step that was never finished: where an ended run stopped, not taken, or still ahead."""
    if RunState(run.state) not in ENDED:
        return {"state": "queued", "note": "not taken so far" if passed else "not yet"}
    if name == run.step:
        stopped = run.state in (RunState.FAILED, RunState.CANCELLED)
        return {"state": run.state if stopped else "skipped", "note": "stopped here"}
    return {"state": "skipped", "note": "not taken"}


def _gauges(run: Run, purses: Sequence[Purse], now: datetime) -> list[dict[str, Any]]:
    """What the budget has left: time, steps, tokens, and money in each currency that the run has touched."""
    budget = run.budget
    found = [
        _deadline(run, budget, now),
        _gauge("Steps", budget.steps_used, 0, budget.steps_limit),
        _gauge("Tokens", budget.tokens_used, budget.tokens_reserved, budget.tokens_limit),
    ]
    untouched = []
    for purse in purses:
        if purse.spent_minor or purse.reserved_minor:
            found.append(_purse(purse))
        else:
            untouched.append(words.money(purse.limit_minor, purse.currency))
    if untouched:
        left = {"name": "Money, untouched", "left": "", "spent": 0, "reserved": 0, "limit": 0}
        found.append({**left, "words": ", ".join(untouched)})
    return [gauge for gauge in found if gauge is not None]


def _purse(purse: Purse) -> dict[str, Any]:
    left = purse.limit_minor - purse.spent_minor - purse.reserved_minor
    spent, kept, limit = (
        words.money(minor, purse.currency)
        for minor in (purse.spent_minor, purse.reserved_minor, purse.limit_minor)
    )
    return {
        "name": purse.currency,
        "left": f"{words.money(left, purse.currency)} left",
        "spent": purse.spent_minor,
        "reserved": purse.reserved_minor,
        "limit": purse.limit_minor,
        "words": f"{spent} spent{f', {kept} reserved' if purse.reserved_minor else ''} of {limit}",
    }


def _deadline(run: Run, budget: Budget, now: datetime) -> dict[str, Any] | None:
    """Runs on through waits; of an ended run it says nothing any more."""
    if budget.deadline is None or RunState(run.state) in ENDED:
        return None
    whole = (budget.deadline - run.created_at).total_seconds()
    left = (budget.deadline - now).total_seconds()
    return {
        "name": "Deadline",
        "left": f"{span(left)} left" if left > 0 else "over",
        "spent": min(max(whole - left, 0), whole),
        "reserved": 0,
        "limit": max(whole, 1),
        "words": f"{moment(budget.deadline)}; runs on through waits",
    }


def _gauge(name: str, spent: int, reserved: int, limit: int | None) -> dict[str, Any] | None:
    if limit is None:
        return None
    return {
        "name": name,
        "left": f"{limit - spent - reserved:,} left",
        "spent": spent,
        "reserved": reserved,
        "limit": limit,
        "words": f"{spent:,} used{f', {reserved:,} reserved' if reserved else ''} of {limit:,}",
    }


def _effects_words(found: Tally) -> str:
    """How many there are and what came of them, counted over all of them."""
    applied = found.some([EffectState.APPLIED], undo=False)
    spent = "".join(f", {words.money(minor, currency)} spent" for currency, minor in applied.sums.items())
    undone = found.some([EffectState.APPLIED], undo=False, undone=True)
    back = f", {undone.count:,} of them undone" if undone else ""
    noun = "effect" if found.count == 1 else "effects"
    return f"{found.count:,} {noun}, {applied.count:,} applied{back}{spent}"


def point(found: pages.Row) -> dict[str, Any]:
    """A stored checkpoint as pages and forms show it."""
    return {
        "version": found["version"],
        "after": _AFTER[CheckpointKind(found["kind"])].format(step=found["step"]).strip(),
        "next": found["next_step"],
        "messages": found["message_count"],
        "progress": found["progress"],
        "tokens": int((found["budget"] or {}).get("tokens", 0)),
        "at": found["at"],
    }


def _saga(run: Run, found: Tally) -> dict[str, Any] | None:
    """The undos of a run that is or was compensated, and what of it could not be undone: all counted, newest listed."""
    if RunState(run.state) not in _UNDOING:
        return None
    undos = {row["undo_of_id"]: row for row in found.rows if row["undo_of_id"] is not None}
    forward = [row for row in found.rows if row["undo_of_id"] is None and row["state"] == EffectState.APPLIED]
    forward.sort(key=lambda row: row["applied_no"] or 0, reverse=True)
    listed = []
    for row in forward:
        undo = undos.get(row["id"])
        state = (
            undo["state"]
            if undo is not None
            else ("queued" if run.state == RunState.COMPENSATING else "not undoable")
        )
        note = f"undone by {undo['key']}" if undo is not None else "no undo has been recorded"
        listed.append({"effect_id": (undo or row)["key"], "key": row["key"], "state": state, "note": note})
    applied = found.some([EffectState.APPLIED], undo=False)
    undone = found.some([EffectState.APPLIED], undo=False, undone=True)
    more = f", the newest {len(listed)} listed" if len(listed) < applied.count else ""
    return {"rows": listed, "words": f"{undone.count:,} of {applied.count:,} undone{more}"}


def working_state(run: Run) -> Any:
    """The state that the next step will see: the newest that is stored, since only a changed one is."""
    stored = Checkpoint.objects.filter(run=run, state__isnull=False).order_by("-version")
    return stored.values_list("state", flat=True).first() or {}
