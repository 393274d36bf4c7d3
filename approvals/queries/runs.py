"""The list of runs, its filters, and why each run is where it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from approvals.queries import actors, pages, words
from durable.digest import keyed_hash
from durable.errors import Invalid
from durable.models import Checkpoint, Effect, Run, Subject, Wait
from durable.states import EffectState, RunState, WaitKind, WaitState
from durable.tools import all_tools

#: A run that is due for longer than this and not taken up says that no worker is there.
LATE = timedelta(minutes=1)

#: What may be filtered by: the states of a run, and two reasons for which people look at runs.
STUCK, GATED = "stuck", "gate"
_CHIPS = (
    "",
    STUCK,
    GATED,
    RunState.RUNNING,
    RunState.QUEUED,
    RunState.SUSPENDED,
    RunState.COMPLETED,
    RunState.FAILED,
    RunState.CANCELLED,
    RunState.COMPENSATED,
)
_LABELS = {"": "All", STUCK: "Stuck", GATED: "Waiting for people"}
_WAIT_COLUMNS = (
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


def having_any() -> Exists:
    """Whether a run has an open wait at all."""
    return Exists(Wait.objects.filter(run=OuterRef("pk"), state=WaitState.OPEN.value))


def having(kind: WaitKind) -> Exists:
    """Whether a run has an open wait of this kind."""
    return Exists(Wait.objects.filter(run=OuterRef("pk"), kind=kind.value, state=WaitState.OPEN.value))


def filtered(state: str, q: str) -> QuerySet[Run]:
    """The runs of a list: one definition for its rows and for its counts. An unknown state finds nothing."""
    found = Run.objects.all()
    if state == STUCK:
        found = found.filter(having(WaitKind.ATTENTION))
    elif state == GATED:
        found = found.filter(having(WaitKind.GATE))
    elif state:
        found = found.filter(state=state)
    if q:
        found = found.filter(Q(ref__icontains=q) | Q(agent__icontains=q) | Q(pk__in=_about(q)))
    return found


def listing(state: str, q: str, *, after: int | None, before: int | None) -> dict[str, Any]:
    """One page of runs. See run_list.html."""
    found = filtered(state, q)
    page = pages.page(found.values(*COLUMNS), after=after, before=before)
    rows = explained(page.rows)
    return {"runs": rows, "page": page.context(pages.count(found)), "version": pages.version(rows), "q": q}


def chips(state: str, q: str) -> list[dict[str, Any]]:
    """The filters with their counts, each from the same rows as the list it leads to; one query for all."""
    chips = [str(chip) for chip in _CHIPS]
    return [
        {
            "label": _LABELS.get(chip) or chip.capitalize(),
            "query": urlencode({name: value for name, value in (("state", chip), ("q", q)) if value}),
            "count": pages.words(count),
            "current": chip == state,
        }
        for chip, count in zip(chips, pages.counts([filtered(chip, q) for chip in chips]), strict=True)
    ]


def explained(rows: list[pages.Row]) -> list[dict[str, Any]]:
    """Rows of runs with the word and the sentence that say why each is where it is; three queries for all of them."""
    ids = [row["id"] for row in rows]
    waits = open_waits(ids)
    moved = dict(
        Checkpoint.objects.filter(run_id__in=ids, version=F("run__version")).values_list("run_id", "at")
    )
    approved = set(
        Effect.objects.filter(run_id__in=ids, state=EffectState.APPROVED.value).values_list(
            "run_id", flat=True
        )
    )
    return [
        {
            "id": row["ref"],
            "agent": row["agent"],
            "subject": words.subject(row["input"]),
            "state": row["state"],
            "wait": words.wait_word(waits[row["id"]]),
            "why": words.why(row, waits[row["id"]], approved=row["id"] in approved),
            "step": row["step"],
            "attempt": row["attempt"],
            "created_at": row["created_at"],
            "moved_at": max(row["changed_at"], moved.get(row["id"], row["changed_at"])),
        }
        for row in rows
    ]


def open_waits(run_ids: Iterable[int]) -> defaultdict[int, list[dict[str, Any]]]:
    """The open waits of some runs, oldest first, by run."""
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    rows = Wait.objects.filter(run_id__in=list(run_ids), state=WaitState.OPEN.value).order_by("id")
    waits = [dict(row) for row in rows.values(*_WAIT_COLUMNS)]
    holders = actors.names(wait["detail"]["by"] for wait in waits if (wait["detail"] or {}).get("by"))
    for wait in waits:
        if (wait["detail"] or {}).get("by"):
            wait["detail"] = {**wait["detail"], "by": holders[wait["detail"]["by"]]}
        found[wait["run_id"]].append(wait)
    return found


def subject_hashes(text: str) -> list[str]:
    """The keyed hashes under which effects about `text` are filed, whatever it is the name of."""
    kinds = {kind for tool in all_tools() for kind in tool.facts.subjects}
    try:
        return [keyed_hash(kind, text, settings.INTERLOCK_HASH_KEY) for kind in sorted(kinds)]
    except Invalid:
        return []


def _about(text: str) -> QuerySet[Any, Any]:
    return Subject.objects.filter(hash__in=subject_hashes(text)).values("effect__run_id")
