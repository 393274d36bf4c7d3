"""The gates that wait: by risk first, then by what is due soonest."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import (
    BinaryField,
    BooleanField,
    Case,
    Count,
    Exists,
    F,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from approvals import access, memory
from approvals.capabilities import Capability
from approvals.models import Gate
from approvals.queries import pages, subjects, words
from approvals.states import LIVE, LIVE_VALUES, GateState
from durable.clock import db_now
from durable.ledger import gating
from durable.models import Sealed
from durable.models.fields import Clock
from durable.states import EffectClass

#: Nearer to its deadline than this, a gate is marked.
SOON = timedelta(hours=1)

#: What stands in a queue, in its order; `id` makes it whole.
_ORDER = ("-hard", "decide_by", "id")
#: Where a gate stands: not irreversible, due, id.
Place = tuple[bool, datetime, int]
_GROUPS = {True: "Irreversible", False: "Gated by policy"}


def live(user: User | AnonymousUser) -> QuerySet[Gate]:
    """The gates that wait and that the person may see. Lists, counts and badges all start here, so they agree."""
    return access.gates(user).filter(state__in=LIVE_VALUES)


def standing(user: User) -> dict[str, Any]:
    """How the queue stands, from one query: `total`, the `newest` gate's id, and how many were `asked` back.

    Whatever arrives, leaves or is asked back changes one of the three: they are the queue's version. The person
    remembers the total, so that the shell of the page need not count again.
    """
    found = (
        live(user)
        .order_by()
        .values("id", "state")[: pages.COUNTED + 1]
        .aggregate(
            total=Count("id"),
            newest=Max("id", default=0),
            asked=Count("id", filter=Q(state=GateState.ASKED_BACK.value)),
        )
    )
    memory.of(user)["waiting"] = found["total"]
    return found


def version(stands: dict[str, Any]) -> str:
    """The queue's version as it stands in addresses; `news.Seen` reads it."""
    return f"{stands['newest']}-{stands['total']}-{stands['asked']}"


def queue(user: User, after: str | None = None, *, show: Gate | None = None) -> dict[str, Any]:
    """The inbox: groups by risk, at most a page of gates. See gate_list.html. `after` is a cursor from an address.

    With `show` it is the first page, or, where that gate waits behind it, the page that begins with it.
    """
    stands, since = standing(user), _place(after)
    found = _ordered(live(user))
    rows = _page(found if since is None else found.filter(_behind(since)), part=0)
    if show is not None and GateState(show.state) in LIVE:
        # Both pages in one query: which of them shows the gate, only the rows say.
        rows = rows.union(_page(found.filter(_behind(_place_of(show), with_it=True)), part=1), all=True)
    return _shown(user, stands, sorted(rows, key=_place_of_row), show, later=since is not None)


def _page(found: QuerySet[Gate], *, part: int) -> QuerySet[Gate, pages.Row]:
    rows: QuerySet[Gate, pages.Row] = found.values(*_COLUMNS, part=Value(part), **_NAMED)
    return rows[: pages.PAGE + 1]


def _shown(
    user: User, stands: dict[str, Any], found: list[pages.Row], show: Gate | None, *, later: bool
) -> dict[str, Any]:
    first = [row for row in found if not row["part"]]
    behind = show is not None and all(row["id"] != show.pk for row in first[: pages.PAGE])
    rows = [row for row in found if row["part"]] if behind else first
    rows = rows or first
    later = later or rows is not first
    shown, now = rows[: pages.PAGE], rows[0]["now"] if rows else db_now()
    total = stands["total"]
    return {
        "now": now,
        "total": total,
        "whose": "you" if access.may(user, Capability.DECIDE) else "people",
        "version": version(stands),
        "more": f"{len(shown)} of {pages.words(total)} shown" if total > len(shown) else "",
        "later": later,
        "older": _cursor(shown[-1]) if len(rows) > pages.PAGE else "",
        "groups": _groups(shown, now),
        "ids": [row["id"] for row in shown],
        "rows": shown,
        "places": [_place_of_row(row) for row in shown],
    }


def following(user: User, gate: Gate) -> int | None:
    """The gate to look at once this one is answered: the next open one, else the first; None where none is left."""
    behind = Case(When(_behind(_place_of(gate)), then=Value(0)), default=Value(1))
    found = _ordered(live(user).filter(state=GateState.OPEN.value).exclude(pk=gate.pk)).annotate(turn=behind)
    return found.order_by("turn", *_ORDER).values_list("pk", flat=True).first()


def position(queue: dict[str, Any], gate: Gate) -> dict[str, Any]:
    """Where a gate stands in the queue, in words, and its neighbours: of one that is over, those where it stood."""
    ids: list[int] = queue["ids"]
    if gate.pk in ids:
        at = ids.index(gate.pk)
        before, behind = ids[:at], ids[at + 1 :]
        words = "" if queue["later"] else f"{at + 1} of {pages.words(queue['total'])}"
    else:
        at = sum(place < _place_of(gate) for place in queue["places"])
        before, behind, words = ids[:at], ids[at:], ""
    if not words and queue["total"] and gate.pk not in ids:
        words = f"{pages.words(queue['total'])} wait{'s' if queue['total'] == 1 else ''}"
    return {
        "position": words,
        "previous_id": before[-1] if before else None,
        "next_id": behind[0] if behind else None,
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
        "title": words.title(row["tool"], row["minor"], row["currency"], undo=row["undo"] is not None)
        + words.for_whom(_whom(row)),
        "who": f"{about}, {row['agent']}" if about else row["agent"],
        "key": row["key"],
        "icon": "lock" if row["hard"] else "hand-stop",
        "hard": row["hard"],
        "decide_by": row["decide_by"],
        "soon": row["decide_by"] - now < SOON,
        "note": _note(row),
    }


def _whom(row: pages.Row) -> str:
    """To whom, or about what, something is sent that moves no money: all such would be called the same."""
    if row["box"] is None or row["wrapped"] is None:
        return ""
    return subjects.whom(row["wrapped"], row["ref"], Sealed(digest=row["sealed"], box=row["box"]))


def _note(row: pages.Row) -> str:
    if row["state"] == GateState.ASKED_BACK:
        return "asked back"
    told = ["once more"] if row["again"] else []
    return ", ".join([*told, f"round {row['round']}"] if row["round"] > 1 else told)


_COLUMNS = ("id", "state", "round", "decide_by", "hard", "reason")
_NAMED = {
    "now": Clock(),
    "again": Exists(gating.acts_alike(OuterRef("effect__once_per"), OuterRef("effect_id")).order_by()),
    "box": Case(
        When(
            LessThanOrEqual(Length("payload__box"), 32_768), effect__amount_minor=None, then=F("payload__box")
        ),
        output_field=BinaryField(),
    ),
    "wrapped": F("effect__run__seal_key__wrapped"),
    "sealed": F("payload__digest"),
    "ref": F("effect__run__ref"),
    "key": F("effect__key"),
    "tool": F("effect__tool"),
    "minor": F("effect__amount_minor"),
    "currency": F("effect__currency"),
    "undo": F("effect__undo_of_id"),
    "agent": F("effect__run__agent"),
    "input": F("effect__run__input"),
}


def _ordered(found: QuerySet[Gate]) -> QuerySet[Gate]:
    hard = Case(
        When(effect__effect_class=EffectClass.IRREVERSIBLE.value, then=Value(True)),
        default=Value(False),
        output_field=BooleanField(),
    )
    return found.annotate(hard=hard).order_by(*_ORDER)


def _place_of(gate: Gate) -> Place:
    """Where a gate stands or stood: what is irreversible first, then by deadline."""
    return gate.effect.effect_class != EffectClass.IRREVERSIBLE, gate.decide_by, gate.pk


def _place_of_row(row: pages.Row) -> Place:
    return not row["hard"], row["decide_by"], row["id"]


def _cursor(row: pages.Row) -> str:
    return f"{int(row['hard'])}_{row['decide_by'].isoformat()}_{row['id']}"


def _place(after: str | None) -> Place | None:
    """The place that a cursor names; None for nonsense, which shows the first page."""
    try:
        hard_text, due_text, id_text = (after or "").split("_")
        due, last = datetime.fromisoformat(due_text), int(id_text)
        due.astimezone()
    except (ValueError, OverflowError):
        return None
    return hard_text != "1", due, last


def _behind(place: Place, *, with_it: bool = False) -> Q:
    """The rows that come after a place; `with_it`, those from it on."""
    gated, due, last = place
    same = Q(decide_by=due, id__gte=last) if with_it else Q(decide_by=due, id__gt=last)
    behind = Q(hard=not gated) & (Q(decide_by__gt=due) | same)
    return behind if gated else behind | Q(hard=False)
