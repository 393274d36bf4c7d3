"""One run: why it is where it is, its plan, its money, its effects, and who did what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from approvals.outcomes import moment
from approvals.queries import effects, events, pages, runs, words
from approvals.templatetags.interlock import span
from durable import plan
from durable.clock import db_now
from durable.errors import InterlockError
from durable.models import Budget, Chain, Checkpoint, Purse, Run
from durable.states import ENDED, FINAL, CheckpointKind, EffectState, RunState

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


def version(run: Run) -> str:
    """Changes whenever the page would: states, steps and every ledger event are in it."""
    chain = Chain.objects.filter(run_ref=run.ref).values_list("no", flat=True).first()
    return pages.version(run.state, run.step, run.version, run.attempt, run.held, run.changed_at, chain)


def detail(run: Run, seen: str = "") -> dict[str, Any]:
    """Everything that run_detail.html shows but its acts. `run` comes from `access.get_run`, `seen` from `version`."""
    waits = runs.open_waits([run.pk])[run.pk]
    rows = effects.of_run(run)
    points: list[pages.Row] = _plain(
        run.checkpoints.order_by("-version").values(
            "version", "kind", "step", "next_step", "progress", "message_count", "at"
        )[:20]
    )
    approved = any(row["state"] == EffectState.APPROVED for row in rows)
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
            "version": seen or version(run),
            "created_at": run.created_at,
            "attempt": run.attempt,
            "code": "",
            "ended": RunState(run.state) in FINAL,
        },
        "waits": waits,
        "effect_rows": rows,
        "requester": run.requester,
        "plan": _plan(run, points, waits),
        "budget": _gauges(run),
        "effects": [effects.row(one) for one in rows],
        "effects_words": _effects_words(rows),
        "chain": None,
        "checkpoints": [_point(point) for point in points],
        "saga": _saga(run, rows),
        "now": db_now(),
        **events.listing(run),
    }


def _plain(found: Iterable[Any]) -> list[pages.Row]:
    return [dict(row) for row in found]


def _more(run: Run) -> str:
    parts = []
    if run.parent is not None:
        parts.append(f"Forked from {run.parent.ref} at version {run.parent_version}.")
    if RunState(run.state) in ENDED and run.result is not None:
        parts.append("It left a result.")
    return " ".join(parts)


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


def _gauges(run: Run) -> list[dict[str, Any]]:
    """What the budget has left: time, steps, tokens, and money in each currency that the run has touched."""
    budget = run.budget
    found = [
        _deadline(run, budget),
        _gauge("Steps", budget.steps_used, 0, budget.steps_limit),
        _gauge("Tokens", budget.tokens_used, budget.tokens_reserved, budget.tokens_limit),
    ]
    untouched = []
    for purse in Purse.objects.filter(budget=budget).order_by("currency"):
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
        "words": f"{spent} spent, {kept} reserved of {limit}",
    }


def _deadline(run: Run, budget: Budget) -> dict[str, Any] | None:
    """Runs on through waits; of an ended run it says nothing any more."""
    if budget.deadline is None or RunState(run.state) in ENDED:
        return None
    now, whole = db_now(), (budget.deadline - run.created_at).total_seconds()
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


def _effects_words(rows: list[pages.Row]) -> str:
    applied = [row for row in rows if row["state"] == EffectState.APPLIED]
    return f"{len(rows)} effect{'' if len(rows) == 1 else 's'}, {len(applied)} applied"


def _point(point: pages.Row) -> dict[str, Any]:
    return {
        "version": point["version"],
        "after": _AFTER[CheckpointKind(point["kind"])].format(step=point["step"]).strip(),
        "next": point["next_step"],
        "messages": point["message_count"],
        "at": point["at"],
    }


def _saga(run: Run, rows: list[pages.Row]) -> dict[str, Any] | None:
    """The undos of a run that is or was compensated, and what of it could not be undone."""
    if RunState(run.state) not in _UNDOING:
        return None
    undos = {row["undo_of_id"]: row for row in rows if row["undo_of_id"] is not None}
    forward = [row for row in rows if row["undo_of_id"] is None and row["state"] == EffectState.APPLIED]
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
    done = sum(1 for undo in undos.values() if undo["state"] == EffectState.APPLIED)
    return {"rows": listed, "words": f"{done} of {len(forward)} undone"}


def working_state(run: Run) -> Any:
    """The state that the next step will see: the newest that is stored, since only a changed one is."""
    stored = Checkpoint.objects.filter(run=run, state__isnull=False).order_by("-version")
    return stored.values_list("state", flat=True).first() or {}
