"""What can be exported: what a search in the ledger or the log has found, and what a dossier is about.

One definition for the rows, their number, and what a bundle proves: the lists' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Exists, F, QuerySet

from approvals import access, ledger_query, log_query
from approvals.capabilities import Capability
from approvals.exports.columns import LEDGER, LOG, Column
from approvals.queries import act_list, groups, pages, searching, subjects, totals
from durable.errors import Invalid, NotFound
from durable.models import Effect, Subject

EFFECT, RUN, SUBJECT = "effect", "run", "subject"
#: By name: what it is called, and which right it takes besides that to take files out.
KINDS: dict[str, tuple[str, Capability]] = {
    "ledger": ("Ledger", Capability.SEE_LEDGER),
    "log": ("Log", Capability.SEE_LOG),
    EFFECT: ("Dossier of an effect", Capability.SEE_LEDGER),
    RUN: ("Dossier of a run", Capability.SEE_LEDGER),
    SUBJECT: ("Dossier of a subject", Capability.SEE_LEDGER),
}
#: A bundle holds the proofs of so many effects or acts at most.
BUNDLED = pages.COUNTED

_OF_EFFECT = (
    "id", "key", "step", "tool", "tool_version", "effect_class", "vendor", "state", "amount_minor", "currency",
    "reason", "sends", "receipt_id", "adopted", "failure", "recorded_at", "first_sent_at", "last_sent_at",
    "settled_at", "digest",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """Rows to be exported: in disjoint parts, with the columns that a file has, and in which order.

    `number` is how many they are, None where that is more than is counted at once.
    """

    parts: Sequence[QuerySet[Any, Any]]
    columns: tuple[Column, ...]
    order: str
    number: int | None

    def sql(self) -> tuple[str, list[Any]]:
        """The rows as SQL with its values; empty where nothing can be among them."""
        texts: list[str] = []
        values: list[Any] = []
        for part in self.parts:
            try:
                sql, params = part.query.sql_with_params()
            except EmptyResultSet:
                continue
            texts.append(f"({sql})")
            values += params
        return " UNION ALL ".join(texts), values

    def count(self) -> int:
        """How many they are, counted to the last one."""
        sql, values = self.sql()
        if not sql:
            return 0
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM ({sql}) f", values)
            number: int = cursor.fetchone()[0]
        return number

    def proven(self) -> dict[str, list[Any]]:
        """What a bundle of them is about. Raises Invalid where they are more than one holds."""
        name = "key" if self.columns is LEDGER else "id"
        found: list[Any] = []
        for part in self.parts:
            found += part.values_list(name, flat=True)[: BUNDLED + 1 - len(found)]
        if len(found) > BUNDLED:
            raise Invalid("form", f"must not be a bundle for more than {BUNDLED:,}: narrow the search")
        return {"effects" if name == "key" else "ids": found}


def check(person: User, of: str) -> None:
    """Raise Missing, which names the right, unless the person may take such a file now."""
    for needed in (Capability.EXPORT, KINDS[of][1]):
        access.check(person, needed)


def find(of: str, query: str, now: datetime) -> Source:
    """Look up what is asked for, as at `now` in the present time zone. Raises Invalid for what can't be understood, and
    NotFound where there is no such effect, run or subject.
    """
    if of == "log":
        return _log(query, now)
    if of == "ledger":
        search = searching.look_up(ledger_query.parse(query, now, subjects.kinds()))
        if search.problems:
            raise Invalid("q", " ".join(search.problems))
        number = totals.of(search).number
        known = search.summed or number <= pages.COUNTED
        return _effects(search.found, number if known else None)
    found = _dossier(of, query)
    number = pages.count(found)
    if not number and of != RUN:
        raise NotFound(f"no such {of}")
    return _effects(found, number if number <= pages.COUNTED else None)


def _dossier(of: str, name: str) -> QuerySet[Effect]:
    if of == SUBJECT:
        about = Subject.objects.filter(hash=name).order_by().values("effect_id")
        return Effect.objects.filter(pk__in=about)
    return Effect.objects.filter(key=name) if of == EFFECT else Effect.objects.filter(run__ref=name)


def _effects(found: QuerySet[Effect], number: int | None) -> Source:
    rows = (
        found.order_by()
        .annotate(undone=Exists(groups.applied_undos()))
        .values(
            *_OF_EFFECT,
            "undone",
            ref=F("run__ref"),
            agent=F("run__agent"),
            requester=F("run__requester"),
            undoes=F("undo_of__key"),
        )
    )
    return Source([rows], LEDGER, "f.id", number)


def _log(text: str, now: datetime) -> Source:
    query = log_query.parse(text, now)
    if query.problems:
        raise Invalid("q", " ".join(query.problems))
    found = act_list.branches(query)
    rows = [
        one.order_by().values(
            "id", "at", "actor", "kind", "no", "body", "hash", chain=F("run_ref"), concerns=F("effect_key")
        )
        for one in found
    ]
    number = sum(pages.counts(found))
    return Source(rows, LOG, "f.at, f.id", number if number <= pages.COUNTED else None)
