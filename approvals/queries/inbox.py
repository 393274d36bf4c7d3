"""The gates that wait: by risk first, then by what is due soonest."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import BooleanField, Case, F, Q, QuerySet, Value, When

from approvals import access
from approvals.capabilities import Capability
from approvals.models import Gate
from approvals.queries import pages, words
from approvals.states import LIVE_VALUES, GateState
from durable.clock import db_now
from durable.states import EffectClass

#: Nearer to its deadline than this, a gate is marked.
SOON = timedelta(hours=1)

_GROUPS = {True: "Irreversible", False: "Gated by policy"}


def live(user: User | AnonymousUser) -> QuerySet[Gate]:
    """The gates that wait and that the person may see. Lists, counts and badges all start here, so they agree."""
    if not access.may(user, Capability.SEE_GATES):
        return Gate.objects.none()
    return Gate.objects.filter(state__in=LIVE_VALUES)


def queue(user: User, after: str | None = None) -> dict[str, Any]:
    """The inbox: groups by risk, at most a page of gates, `page` for the rest. See gate_list.html."""
    now = db_now()
    found = live(user).annotate(
        hard=Case(
            When(effect__effect_class=EffectClass.IRREVERSIBLE.value, then=Value(True)),
            default=Value(False),
            output_field=BooleanField(),
        )
    )
    total = pages.count(found)
    rows = list(
        _behind(found, after)
        .order_by("-hard", "decide_by", "id")
        .values(
            "id",
            "state",
            "round",
            "decide_by",
            "hard",
            "reason",
            key=F("effect__key"),
            tool=F("effect__tool"),
            minor=F("effect__amount_minor"),
            currency=F("effect__currency"),
            undo=F("effect__undo_of_id"),
            agent=F("effect__run__agent"),
            input=F("effect__run__input"),
        )[: pages.PAGE + 1]
    )
    shown = rows[: pages.PAGE]
    return {
        "now": now,
        "total": total,
        "whose": "you" if access.may(user, Capability.DECIDE) else "people",
        "version": pages.version([(row["id"], row["state"], row["decide_by"]) for row in shown], total),
        "more": _more(total, len(shown)),
        "older": _cursor(shown[-1]) if len(rows) > pages.PAGE else "",
        "groups": _groups(shown, now),
        "ids": [row["id"] for row in shown],
    }


def _groups(rows: list[pages.Row], now: datetime) -> list[dict[str, Any]]:
    groups = []
    for hard, title in _GROUPS.items():
        found = [_item(row, now) for row in rows if row["hard"] is hard]
        if found:
            groups.append({"title": title, "count": len(found), "gates": found})
    return groups


def _item(row: pages.Row, now: datetime) -> dict[str, Any]:
    about = words.subject(row["input"])
    return {
        "id": row["id"],
        "title": words.title(row["tool"], row["minor"], row["currency"], undo=row["undo"] is not None),
        "who": f"{about}, {row['agent']}" if about else row["agent"],
        "key": row["key"],
        "icon": "lock" if row["hard"] else "hand-stop",
        "hard": row["hard"],
        "decide_by": row["decide_by"],
        "soon": row["decide_by"] - now < SOON,
        "note": _note(row),
    }


def _note(row: pages.Row) -> str:
    if row["state"] == GateState.ASKED_BACK:
        return "asked back"
    return f"round {row['round']}" if row["round"] > 1 else ""


def _more(total: int, shown: int) -> str:
    return f"{shown} of {pages.words(total)} shown" if total > shown else ""


def _cursor(row: pages.Row) -> str:
    return f"{int(row['hard'])}_{row['decide_by'].isoformat()}_{row['id']}"


def _behind(found: QuerySet[Any], after: str | None) -> QuerySet[Any]:
    """The rows that come after a cursor; nonsense shows the first page."""
    try:
        hard_text, due_text, id_text = (after or "").split("_")
        hard, due, last = hard_text == "1", datetime.fromisoformat(due_text), int(id_text)
        due.astimezone()
    except (ValueError, OverflowError):
        return found
    behind = Q(hard=hard, decide_by__gt=due) | Q(hard=hard, decide_by=due, id__gt=last)
    return found.filter(behind | Q(hard=False) if hard else behind)
