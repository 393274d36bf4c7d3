"""Where things stand: five numbers, who needs an operator, and what expires next."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse

from approvals.queries import inbox, pages, runs
from durable import restoring
from durable.models import Effect, Run
from durable.models.fields import Clock
from durable.states import EffectState, RunState

_SHOWN = 8
_LATELY = timedelta(hours=1)


def standing(user: User) -> dict[str, Any]:
    """Everything that home.html shows."""
    queue = inbox.queue(user)
    stuck_total, running, queued, doubt, late, sleeping = pages.counts(
        [
            runs.filtered(runs.STUCK, ""),
            runs.filtered(RunState.RUNNING, ""),
            runs.filtered(RunState.QUEUED, ""),
            Effect.objects.filter(state=EffectState.IN_DOUBT.value),
            runs.filtered(RunState.QUEUED, "").filter(due_at__lt=Clock() - runs.LATE),
            _lonely(),
        ]
    )
    stuck = _stuck()
    expiring = sorted(
        (gate for group in queue["groups"] for gate in group["gates"]), key=lambda gate: gate["decide_by"]
    )
    figures = _figures(queue["total"], stuck_total, doubt, running, queued)
    context = {
        "summary": _summary(stuck_total, queue["total"]),
        "restored": _restored(),
        "figures": figures,
        "stuck": stuck,
        "stuck_total": pages.words(stuck_total),
        "expiring": [{**gate, "gate_id": gate["id"]} for gate in expiring[:_SHOWN]],
        "expiring_total": pages.words(queue["total"]),
        "health": _health(late, sleeping),
    }
    return {**context, "version": pages.version(context), "now": queue["now"]}


def _restored() -> str:
    """One sentence while something is left to settle of a restore from a backup, else nothing."""
    found = restoring.standing()
    if found is None:
        return ""
    since = f"Restored from a backup of {found.since:%Y-%m-%d %H:%M} UTC"
    left = f"{_counted(found.left, 'effect')} to be settled"
    if not found.stopped:
        return f"{since}: {left} before anything of {'it' if found.left == 1 else 'them'} is sent."
    gone = f", {_counted(found.gone, 'effect')} of runs that are gone to be looked at" if found.gone else ""
    return f"{since}: {left}{gone}. Nothing leaves until an operator says so (manage.py recover)."


def _counted(number: int, word: str) -> str:
    return f"{pages.words(number)} {word}{'' if number == 1 else 's'}"


def _summary(stuck: int, gates: int) -> str:
    if not stuck and not gates:
        return "Nothing needs a person."
    return f"{_things(stuck, 'run')} an operator, {_things(gates, 'gate')} an answer."


def _things(number: int, word: str) -> str:
    return f"{pages.words(number)} {word}{' needs' if number == 1 else 's need'}"


def _figures(gates: int, stuck: int, doubt: int, running: int, queued: int) -> list[dict[str, Any]]:
    lists = (
        ("Gates waiting", "hand-stop", "waits", gates, "for people's answer", reverse("gates")),
        ("Stuck", "alert-triangle", "stopped", stuck, "need an operator", f"{reverse('runs')}?state=stuck"),
        (
            "In doubt",
            "zoom-question",
            "doubt",
            doubt,
            "did it happen?",
            f"{reverse('ledger')}?state=in+doubt",
        ),
        ("Running", "progress", "moving", running, "a worker is at them", f"{reverse('runs')}?state=running"),
        (
            "Queued",
            "circle-dashed",
            "quiet",
            queued,
            "for the next worker",
            f"{reverse('runs')}?state=queued",
        ),
    )
    return [
        {"label": label, "icon": icon, "tone": tone, "value": pages.words(value), "note": note, "href": href}
        for label, icon, tone, value, note, href in lists
    ]


def _stuck() -> list[dict[str, Any]]:
    found = runs.filtered(runs.STUCK, "").order_by("changed_at").values(*runs.COLUMNS)[:_SHOWN]
    return [
        {
            **run,
            "run_id": run["id"],
            "state": run["wait"] or run["state"],
            "since": run["moved_at"],
            "act": "Look",
        }
        for run in runs.explained(list(found))
    ]


def _lonely() -> QuerySet[Run]:
    """Suspended without an open wait, among the latest: the sweeper wakes them, unless it is not there itself.

    Bounded by time, since there may be a million suspended runs and this is asked on every poll.
    """
    lately = runs.filtered(RunState.SUSPENDED, "").filter(changed_at__gt=Clock() - _LATELY)
    return lately.exclude(runs.having_any())


def _health(late: int, sleeping: int) -> list[dict[str, Any]]:
    """What can be said from the database alone: it answers, and whether work is taken up in time."""
    word = (
        "Workers take up what is due"
        if not late
        else f"{pages.words(late)} due for over a minute and not taken: is a worker up?"
    )
    health = [{"ok": True, "words": "Database answers"}, {"ok": not late, "words": word}]
    if sleeping:
        health.append({"ok": False, "words": f"{pages.words(sleeping)} suspended without an open wait"})
    return health
