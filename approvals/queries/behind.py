"""The lists behind the numbers of the first page: what is counted there is what is listed here, by one definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, QuerySet

from approvals import access
from approvals.capabilities import Capability
from approvals.queries import inbox, pages, runs, trends, words
from approvals.queries.pictures import day_ends
from approvals.run_query import IN_DOUBT
from approvals.states import PAST, GateState, Verdict
from approvals.templatetags.interlock import distance
from durable.clock import db_now
from durable.models import Effect, Run
from durable.models.fields import Moment
from durable.states import ENDING, EffectClass, RunState

#: Suspended without an open wait is looked for among the latest only: there may be a million suspended runs.
_SLEPT = timedelta(hours=1)
IN_FLIGHT = frozenset({RunState.RUNNING, RunState.QUEUED}) | ENDING
GATE_COLUMNS = ("id", "decide_by", "state", "round")
_PATHS = {
    "key": "effect__key",
    "tool": "effect__tool",
    "minor": "effect__amount_minor",
    "currency": "effect__currency",
    "undo": "effect__undo_of_id",
    "input": "effect__run__input",
}
GATE_NAMES = {name: F(path) for name, path in _PATHS.items()}

Cursor = int | None
Made = tuple[pages.Page, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class List:
    """One list: how it is called, what it says of itself, its rows, and the right that it needs."""

    title: str
    about: str
    kind: str  # runs, effects, gates or decisions
    needs: Capability
    found: Callable[[User, datetime, trends.Period, str], QuerySet[Any]]


def live(user: User) -> QuerySet[Any]:
    """The gates that wait, as the inbox counts them."""
    return inbox.live(user)


def in_flight() -> QuerySet[Run]:
    """Runs that a worker is at, or may be at as soon as one is free."""
    return Run.objects.filter(state__in=[state.value for state in sorted(IN_FLIGHT)])


def doubtful() -> QuerySet[Run]:
    """Those of the stuck runs that have an effect in doubt."""
    return runs.filtered(IN_DOUBT)


def stuck() -> QuerySet[Run]:
    """Runs that need an operator, for whatever reason: as the menu and `status:stuck` count them."""
    return runs.filtered(runs.STUCK)


def late() -> QuerySet[Run]:
    """Runs that have been due for a while, and that no worker has taken."""
    return runs.filtered(RunState.QUEUED).filter(due_at__lt=Moment() - runs.LATE)


def sleeping() -> QuerySet[Run]:
    """Runs suspended lately that wait for nothing: the sweeper wakes them, unless it is not there itself."""
    lately = runs.filtered(RunState.SUSPENDED).filter(changed_at__gt=Moment() - _SLEPT)
    return lately.exclude(runs.having_any())


def irreversible(user: User) -> QuerySet[Any]:
    """Gates before what can't be taken back."""
    return live(user).filter(effect__effect_class=EffectClass.IRREVERSIBLE.value)


def asked_back(user: User) -> QuerySet[Any]:
    """Gates at which a reviewer has asked, and nobody has answered yet."""
    return live(user).filter(state=GateState.ASKED_BACK.value)


def expiring(user: User, now: datetime) -> QuerySet[Any]:
    """Gates that are refused by themselves if nobody decides before the reader's day is over."""
    return live(user).filter(decide_by__lt=day_ends(now))


C = Capability
LISTS: dict[str, List] = {
    "in-flight": List(
        "In flight", "A worker is at them, or the next free one takes them.", "runs", C.SEE_RUNS,
        lambda *_: in_flight(),
    ),
    "stuck": List(
        "Stuck", "They need an operator, whatever the reason; what is in doubt is among them.", "runs", C.SEE_RUNS,
        lambda *_: stuck(),
    ),
    "late": List(
        "Due and not taken", "Due for over a minute, and no worker has taken them: is one up?", "runs", C.SEE_RUNS,
        lambda *_: late(),
    ),
    "sleeping": List(
        "Waiting for nothing",
        "Suspended in the last hour without an open wait. The sweeper wakes them: is it up?", "runs", C.SEE_RUNS,
        lambda *_: sleeping(),
    ),
    "ended": List(
        "Ended", "However they have ended; what was started last comes first.", "runs", C.SEE_RUNS,
        lambda _, now, period, __: trends.ended(period.start(now)),
    ),
    "failed": List(
        "Failed", "Failed, or compensated in part only.", "runs", C.SEE_RUNS,
        lambda _, now, period, __: trends.ended(period.start(now), badly=True),
    ),
    "moved": List(
        "Money moved", "Applied, by when the vendor's receipt came. Undos are not among them.", "effects",
        C.SEE_LEDGER, lambda _, now, period, currency: trends.moved(period.start(now), currency),
    ),
    "expiring": List(
        "Expiring today", "Refused by themselves at their moment if nobody decides.", "gates", C.SEE_GATES,
        lambda user, now, *_: expiring(user, now),
    ),
    "irreversible": List(
        "Irreversible and waiting", "What is let out here can't be taken back.", "gates", C.SEE_GATES,
        lambda user, *_: irreversible(user),
    ),
    "asked-back": List(
        "Asked back", "A reviewer has asked; an operator answers.", "gates", C.SEE_GATES,
        lambda user, *_: asked_back(user),
    ),
    "for-nobody": List(
        "Waiting for nobody", "All who may decide had a hand in it. An admin must name somebody.",
        "gates", C.SEE_GATES, lambda user, *_: access.for_nobody(user),
    ),
    "decided": List(
        "Decided", "Approved and rejected by people.", "decisions", C.SEE_GATES,
        lambda _, now, period, __: trends.decided(period.start(now)),
    ),
}  # fmt: skip
_LATELY = frozenset({"ended", "failed", "moved", "decided"})


def listing(
    user: User, name: str, period: trends.Period, currency: str, *, after: int | None, before: int | None
) -> dict[str, Any]:
    """One page of a list. See behind.html."""
    one, now = LISTS[name], db_now()
    found = one.found(user, now, period, currency)
    made: dict[str, Callable[[QuerySet[Any], Cursor, Cursor, datetime], Made]] = {
        "runs": _runs, "effects": _effects, "gates": _gates, "decisions": _decisions,
    }  # fmt: skip
    page, rows = made[one.kind](found, after, before, now)
    shown = page.context(pages.count(found))
    title = f"{one.title} in {currency}" if name == "moved" else one.title
    return {
        "title": f"{title}, {period.words}" if name in _LATELY else title,
        "about": one.about,
        "kind": one.kind,
        "rows": rows,
        "page": shown,
        "version": pages.version(rows, shown),
        "now": now,
        "section": "home",
    }


def _runs(found: QuerySet[Any], after: Cursor, before: Cursor, now: datetime) -> Made:
    page = pages.page(found.values(*runs.COLUMNS), after=after, before=before)
    rows = runs.explained(page.rows)
    return page, [row | {"ago": runs.since(row["moved_at"], now)} for row in rows]


def _effects(found: QuerySet[Any], after: Cursor, before: Cursor, now: datetime) -> Made:
    columns = (
        "id",
        "key",
        "tool",
        "amount_minor",
        "currency",
        "state",
        "receipt_id",
        "settled_at",
        "run__input",
    )
    # Which they are is found first: what is shown of each is read of those alone.
    page = pages.page(found.values("id"), after=after, before=before)
    read = {
        row["id"]: row
        for row in Effect.objects.filter(pk__in=[one["id"] for one in page.rows]).values(*columns)
    }
    rows = [dict(read[one["id"]]) for one in page.rows]
    return page, [row | {"about": words.subject(row["run__input"])} for row in rows]


def _gates(found: QuerySet[Any], after: Cursor, before: Cursor, now: datetime) -> Made:
    page = pages.page(found.values(*GATE_COLUMNS, **GATE_NAMES), after=after, before=before)
    return page, [gate(row, now) | {"left": distance(row["decide_by"] - now)} for row in page.rows]


def _decisions(found: QuerySet[Any], after: Cursor, before: Cursor, now: datetime) -> Made:
    names = {name: F(f"gate__{path}") for name, path in _PATHS.items()}
    columns = (
        "id",
        "gate_id",
        "verdict",
        "at",
        "person__first_name",
        "person__last_name",
        "person__username",
    )
    page = pages.page(
        found.values(*columns, opened=F("gate__opened_at"), **names), after=after, before=before
    )
    rows = []
    for row in page.rows:
        person = f"{row['person__first_name']} {row['person__last_name']}".strip() or row["person__username"]
        rows.append(
            {
                "gate_id": row["gate_id"],
                "title": _title(row),
                "about": words.subject(row["input"]),
                "key": row["key"],
                "verdict": PAST[Verdict(row["verdict"])],
                "person": person,
                "at": row["at"],
                "took": row["at"] - row["opened"],
            }
        )
    return page, rows


def gate(row: dict[str, Any], now: datetime) -> dict[str, Any]:
    """One gate that waits, for lists."""
    return {
        "gate_id": row["id"],
        "title": _title(row),
        "about": words.subject(row["input"]),
        "key": row["key"],
        "state": "asked back" if row["state"] == GateState.ASKED_BACK else "gated",
        "decide_by": row["decide_by"],
        "soon": row["decide_by"] - now < inbox.SOON,
    }


def _title(row: dict[str, Any]) -> str:
    return words.title(row["tool"], row["minor"], row["currency"], undo=row["undo"] is not None)
