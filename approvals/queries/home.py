"""Where things stand: what is in flight, waits, is stuck or in doubt, and what to do about it first."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, QuerySet

from approvals import access, moments
from approvals.capabilities import Capability
from approvals.queries import behind, figures, pages, runs, trends, words
from approvals.states import PAST, Verdict
from durable import restoring
from durable.clock import db_now
from durable.models import Run
from durable.states import Attention

_SHOWN = 5
#: What a person does about a run that is stuck for this reason; the button says it.
_ACTS: dict[str, str] = {
    Attention.IN_DOUBT: "Settle",
    Attention.CONFLICT: "Resolve",
    Attention.BUDGET: "Skip or cancel",
    Attention.RETRIES: "Retry",
    Attention.CRASH_LOOP: "Retry",
    Attention.CODE_MISSING: "Retry",
    Attention.INCOMPATIBLE: "Retry",
    Attention.UNDO_FAILED: "Retry the undo",
    Attention.FACTS: "Ask anew",
    Attention.NOT_ASKED_AGAIN: "Retry or skip",
}


def standing(user: User) -> dict[str, Any]:
    """What home.html shows and polls for: numbers, lists and health. `trends` are asked for apart."""
    now, held = db_now(), access.capabilities(user)
    counted = figures.read(user, now)
    context: dict[str, Any] = {
        "restored": _restored(),
        "figures": figures.shown(counted, now),
        "summary": figures.summary(counted),
        "health": figures.health(counted),
        "decides": Capability.DECIDE in held,
        "stuck": [],
        "waiting": [],
        "expiring": [],
        "mine": [],
    }
    if Capability.SEE_GATES in held:
        gates = _gates(behind.live(user), now)
        context["expiring_total"] = pages.words(counted["gates"])
        context["waiting" if context["decides"] else "expiring"] = gates
    if context["decides"]:
        context["mine"] = _mine(user, now)
    elif Capability.SEE_RUNS in held:
        context["stuck"] = _stuck(may_act=Capability.STEER_RUNS in held)
        context["stuck_total"] = pages.words(counted["stuck"])
        if context["stuck"]:  # two cards side by side, about as tall as each other
            context["expiring"] = context["expiring"][: len(context["stuck"]) + 1]
    return {**context, "version": pages.version(context), "now": now}


def _restored() -> str:
    """One sentence while something is left to settle of a restore from a backup, else nothing."""
    found = restoring.standing()
    if found is None:
        return ""
    since = f"Restored from a backup of {moments.whole(found.since)}"
    left = f"{_counted(found.left, 'effect')} to be settled"
    if not found.stopped:
        return f"{since}: {left} before anything of {'it' if found.left == 1 else 'them'} is sent."
    gone = f", {_counted(found.gone, 'effect')} of runs that are gone to be looked at" if found.gone else ""
    return f"{since}: {left}{gone}. Nothing leaves until an operator says so (manage.py recover)."


def _counted(number: int, word: str) -> str:
    return f"{pages.words(number)} {word}{'' if number == 1 else 's'}"


def _stuck(*, may_act: bool) -> list[dict[str, Any]]:
    """Those that have been stuck longest, each with what to do; who only reads is told why it stands there."""
    columns = ("id", "ref", "agent", "input", "state", "step", "attempt", "error", "changed_at")
    found: QuerySet[Run] = runs.filtered(runs.STUCK, "").order_by("changed_at")
    rows = [dict(row) for row in found.values(*columns)[:_SHOWN]]
    waits = runs.open_waits([row["id"] for row in rows])
    return [
        {
            "run_id": row["ref"],
            "agent": row["agent"],
            "subject": words.subject(row["input"]),
            "state": (word := words.wait_word(waits[row["id"]])) or row["state"],
            "why": words.why(row, waits[row["id"]], approved=False),
            "since": row["changed_at"],
            "act": _ACTS.get(word, "Resolve") if may_act else "Read why",
            "effect": next((one["effect__key"] for one in waits[row["id"]] if one["name"] == word), None)
            if word == Attention.IN_DOUBT
            else None,
        }
        for row in rows
    ]


def _gates(found: QuerySet[Any], now: datetime) -> list[dict[str, Any]]:
    """The gates that are due soonest, of all that wait."""
    rows = found.order_by("decide_by", "id").values(*behind.GATE_COLUMNS, **behind.GATE_NAMES)[:_SHOWN]
    return [behind.gate(dict(row), now) for row in rows]


def _mine(user: User, now: datetime) -> list[dict[str, Any]]:
    """What the person has decided lately, and what became of it."""
    start = trends.PERIODS["7d"].start(now)
    rows = (
        trends.by(user, start)
        .order_by("-pk")
        .values(
            "gate_id",
            "verdict",
            "at",
            used=F("gate__used_at"),
            state=F("gate__effect__state"),
            tool=F("gate__effect__tool"),
            minor=F("gate__effect__amount_minor"),
            currency=F("gate__effect__currency"),
            undo=F("gate__effect__undo_of_id"),
        )[:_SHOWN]
    )
    return [
        {
            "gate_id": row["gate_id"],
            "title": words.title(row["tool"], row["minor"], row["currency"], undo=row["undo"] is not None),
            "verdict": f"You {PAST[Verdict(row['verdict'])]}",
            "at": row["at"],
            "state": row["state"],
        }
        for row in rows
    ]
