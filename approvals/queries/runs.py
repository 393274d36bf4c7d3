"""The list of runs: its rows with the reason why each run is where it is, and the counts beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, Subquery

from approvals import appearance
from approvals.queries import actors, finding, pages, words
from approvals.queries.finding import filtered, having_any
from approvals.run_query import STUCK, RunQuery, parse
from approvals.typed import slug
from durable.models import Checkpoint, Effect, Run, Wait
from durable.states import EffectState, RunState, WaitState

__all__ = ["COLUMNS", "LATE", "STUCK", "explained", "filtered", "having_any", "open_waits"]

#: A run that is due for longer than this and not taken up says that no worker is there.
LATE = timedelta(minutes=1)

#: The views that everybody has: a name for a query each, and the word whose look it has.
BUILT_IN: tuple[tuple[str, str, str], ...] = (
    ("All", "", ""),
    ("Stuck", "stuck", "stuck"),
    ("Waiting for people", "waiting", "gate"),
    ("In doubt", "in-doubt", "in doubt"),
    ("Expiring today", "expiring", "open"),
    ("Held", "held", "hold"),
)
#: The states in the order of a run's life.
_LIFE = (
    RunState.QUEUED,
    RunState.RUNNING,
    RunState.SUSPENDED,
    RunState.FAILING,
    RunState.CANCELLING,
    RunState.COMPENSATING,
    RunState.COMPLETED,
    RunState.FAILED,
    RunState.CANCELLED,
    RunState.COMPENSATED,
    RunState.PARTLY_COMPENSATED,
)
WAIT_COLUMNS = (
    "id",
    "run_id",
    "kind",
    "name",
    "detail",
    "deadline",
    "opened_at",
    "effect__key",
    "effect__tool",
    "effect__amount_minor",
    "effect__currency",
    "effect__undo_of_id",
    "gate__id",
)
COLUMNS = (
    "id",
    "ref",
    "agent",
    "input",
    "state",
    "step",
    "attempt",
    "held",
    "error",
    "due_at",
    "created_at",
    "changed_at",
)


def address(query: RunQuery | str) -> str:
    """A query as the list's address has it, without the `?`."""
    return urlencode({"q": text} if (text := str(query)) else {})


@cache
def _views() -> list[tuple[str, RunQuery, str]]:
    return [(label, parse(f"status:{status}" if status else ""), look) for label, status, look in BUILT_IN]


def counts(query: RunQuery, base: finding.Base) -> dict[str, Any]:
    """The chips of the list: views and states with their counts, each from the rows of the list that it opens.

    One query counts them all; where `base` (`finding.base`) finds few runs, it reads each of those once. A state's chip
    keeps what else the query asks for. A view is a query of its own.
    """
    views = _views()
    states = [(state.value.capitalize(), query.of(slug(state.value)), state.value) for state in _LIFE]
    lists: list[pages.Listed | pages.Ids] = [finding.of_all(view.statuses) for _, view, _ in views]
    lists.append(finding.counted(base, query.statuses))
    if base.few:
        numbers = pages.counts(lists, base.runs, *(look for _, _, look in states))
    else:
        lists += [finding.counted(base, state.statuses) for _, state, _ in states]
        numbers = pages.counts(lists)
    total = numbers.pop(len(views))
    chips = [
        {
            "label": label,
            "query": address(leads),
            "count": pages.words(number),
            "none": not number,
            "current": leads == query,
            "look": appearance.of(look) if look else None,
        }
        for (label, leads, look), number in zip([*views, *states], numbers, strict=True)
    ]
    return {"views": chips[: len(views)], "states": chips[len(views) :], "total": total}


def explained(rows: list[pages.Row]) -> list[dict[str, Any]]:
    """Rows of runs with the word and the sentence that say why each is where it is; two queries for all of them."""
    ids = [row["id"] for row in rows]
    waits = open_waits(ids)
    newest = Checkpoint.objects.filter(run=OuterRef("pk"), version=OuterRef("version")).values("at")
    approved = Effect.objects.filter(run=OuterRef("pk"), state=EffectState.APPROVED.value)
    found = Run.objects.filter(pk__in=ids).order_by().values_list("pk", Subquery(newest), Exists(approved))
    more = {pk: (moved, lets_out) for pk, moved, lets_out in found}
    return [
        {
            "id": row["ref"],
            "pk": row["id"],
            "agent": row["agent"],
            "subject": words.subject(row["input"]),
            "state": row["state"],
            "wait": words.wait_word(waits[row["id"]]),
            "why": words.why(row, waits[row["id"]], approved=more[row["id"]][1]),
            "step": row["step"],
            "attempt": row["attempt"],
            "created_at": row["created_at"],
            "moved_at": max(row["changed_at"], more[row["id"]][0] or row["changed_at"]),
        }
        for row in rows
    ]


def since(moment: datetime, now: datetime) -> str:
    """How long ago in one unit, such as `5 min ago`: a list's rows change their words seldom."""
    seconds = max(round((now - moment).total_seconds()), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now"


def open_waits(run_ids: Iterable[int]) -> defaultdict[int, list[dict[str, Any]]]:
    """The open waits of some runs, oldest first, by run."""
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    rows = Wait.objects.filter(run_id__in=list(run_ids), state=WaitState.OPEN.value).order_by("id")
    waits = [dict(row) for row in rows.values(*WAIT_COLUMNS)]
    holders = actors.names(wait["detail"]["by"] for wait in waits if (wait["detail"] or {}).get("by"))
    for wait in waits:
        if (wait["detail"] or {}).get("by"):
            wait["detail"] = {**wait["detail"], "by": holders[wait["detail"]["by"]]}
        found[wait["run_id"]].append(wait)
    return found
