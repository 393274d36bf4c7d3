"""A bulk act as its page shows it: how far it is, and what became of each run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import Count, Q

from approvals import outcomes
from approvals.bulk_acts import kind
from approvals.models import BulkAct, BulkResult
from approvals.queries import pages, runs
from approvals.states import BulkState, Outcome
from durable import standing
from durable.clock import db_now
from durable.errors import Invalid

#: An act that nobody has gone on with for so long says that no worker is there.
SILENT = timedelta(minutes=1)
_LOOKS = {
    Outcome.WAITING: "queued",
    Outcome.DONE: "resolved",
    Outcome.REFUSED: "conflict",
    Outcome.SKIPPED: "skipped",
}
_RESULT = (
    "id",
    "run_id",
    "seen",
    "run__ref",
    "run__agent",
    "run__state",
    "outlook",
    "outcome",
    "words",
    "at",
)
_ACT = ("id", "act", "query", "total", "state", "reason", "drafted_at", "person_id")
_ORDER = (Outcome.REFUSED, Outcome.DONE, Outcome.WAITING, Outcome.SKIPPED)


def label(act: str) -> str:
    """The act in words; one that the code does not know any more as it is stored."""
    try:
        return kind(act).label
    except Invalid:
        return act


def _dangerous(act: str) -> bool:
    try:
        return kind(act).danger
    except Invalid:
        return True


def numbers(bulk: BulkAct) -> dict[Outcome, int]:
    """How many runs have which outcome, from `bulk_by_outcome`."""
    rows = bulk.results.order_by("outcome").values_list("outcome").annotate(number=Count("pk"))
    counted = {Outcome(outcome): number for outcome, number in rows}
    return {outcome: counted.get(outcome, 0) for outcome in _ORDER}


def version(bulk: BulkAct, counted: dict[Outcome, int]) -> str:
    """Of what the page shows: asked for before the dear part."""
    return pages.version(bulk.state, [*counted.values()], bulk.lease_until is None, _silent(bulk))


def detail(
    bulk: BulkAct, counted: dict[Outcome, int], only: str, *, after: int | None, before: int | None
) -> dict[str, Any]:
    """What bulk_detail.html shows of an act; `only` is an outcome to show alone."""
    found = bulk.results.filter(outcome=only) if only else bulk.results.all()
    page = pages.page(
        found.values(*_RESULT),
        after=after,
        before=before,
    )
    moved = _moved(bulk, page.rows)
    over = bulk.total - counted[Outcome.WAITING] - counted[Outcome.SKIPPED]
    planned = bulk.total - counted[Outcome.SKIPPED]
    return {
        "bulk": bulk,
        "label": label(bulk.act),
        "danger": _dangerous(bulk.act),
        "by": outcomes.name(bulk.person),
        "address": runs.address(bulk.query),
        "over": over,
        "planned": planned,
        "counted": {outcome.name.lower(): number for outcome, number in counted.items()},
        "chips": _chips(bulk, counted, only),
        "results": [_result(row) | {"moved": row["run_id"] in moved} for row in page.rows],
        "page": page.context(counted[Outcome(only)] if only else bulk.total),
        "ended": bulk.state in (BulkState.DONE, BulkState.STOPPED),
        "silent": _silent(bulk),
        "version": version(bulk, counted),
        "now": db_now(),
    }


def _chips(bulk: BulkAct, counted: dict[Outcome, int], only: str) -> list[dict[str, Any]]:
    if bulk.state == BulkState.DRAFTED:
        return []
    shown = [("", "All", bulk.total), *((one.value, one.value.capitalize(), n) for one, n in counted.items())]
    return [
        {
            "query": urlencode({"outcome": value} if value else {}),
            "label": word,
            "count": pages.words(number),
            "current": value == only,
        }
        for value, word, number in shown
        if number or not value
    ]


def _moved(bulk: BulkAct, rows: list[pages.Row]) -> set[int]:
    """Which runs of a draft's page no longer stand as they stood when it was made; they would refuse the act."""
    if bulk.state != BulkState.DRAFTED:
        return set()
    part = kind(bulk.act).act.part
    stands = standing.of_many(row["run_id"] for row in rows if not row["outlook"])
    seen = {row["run_id"]: row["seen"] for row in rows}
    return {pk for pk, now in stands.items() if getattr(now, part) != seen[pk]}


def _result(row: pages.Row) -> dict[str, Any]:
    outcome = Outcome(row["outcome"])
    return {
        "run_id": row["run__ref"],
        "agent": row["run__agent"],
        "state": row["run__state"],
        "outcome": outcome.value,
        "look": _LOOKS[outcome],
        "why": row["words"] or row["outlook"],
        "outlook": row["outlook"],
        "at": row["at"],
    }


def _silent(bulk: BulkAct) -> bool:
    """Whether it is under way, nobody is at it, and nothing has become of it lately."""
    if bulk.state != BulkState.GOING or bulk.started_at is None:
        return False
    now = db_now()
    if bulk.lease_until is not None and bulk.lease_until > now:
        return False
    newest = bulk.results.filter(at__isnull=False).order_by("-at").values_list("at", flat=True).first()
    return now - max(newest or bulk.started_at, bulk.started_at) > SILENT


def listing(person: User, *, after: int | None, before: int | None) -> dict[str, Any]:
    """The bulk acts of everybody, and the person's own draft. See bulk_list.html."""
    found = BulkAct.objects.filter(~Q(state=BulkState.DRAFTED.value) | Q(person=person))
    page = pages.page(
        found.values(*_ACT),
        after=after,
        before=before,
    )
    people = {
        one.pk: outcomes.name(one) for one in User.objects.filter(pk__in={r["person_id"] for r in page.rows})
    }
    done = dict(
        BulkResult.objects.filter(bulk_id__in=[row["id"] for row in page.rows], outcome=Outcome.REFUSED.value)
        .order_by("bulk_id")
        .values_list("bulk_id")
        .annotate(number=Count("pk"))
    )
    acts = [
        {**row, "label": label(row["act"]), "by": people[row["person_id"]], "refused": done.get(row["id"], 0)}
        for row in page.rows
    ]
    shown = page.context(pages.count(found))
    return {"acts": acts, "page": shown, "version": pages.version(acts, shown), "now": db_now()}
