"""Whose dossier it is: one effect's, one run's, or one subject's; its head, its list, and its pages of cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, QuerySet
from django.urls import reverse
from django.utils import timezone

from approvals import access, opened
from approvals.queries import dossier, groups, held, retained, subjects, totals, words
from approvals.queries.dossier import MOST, SHOWN
from approvals.queries.groups import Likeness
from approvals.queries.held import Held
from approvals.queries.pages import Row
from approvals.queries.tallies import Tally
from durable.models import Effect, Run, Subject
from durable.text import quoted

_COLUMNS = (
    "id",
    "key",
    "tool",
    "amount_minor",
    "currency",
    "state",
    "receipt_id",
    "recorded_at",
    "settled_at",
    "undo_of_id",
)


@dataclass(frozen=True, slots=True)
class Dossier:
    """What a dossier is about, and the effects in it, the newest first, as they stood at the moment `at`."""

    kind: str  # effect, run or subject
    name: str
    title: str
    rows: Sequence[Row]
    at: datetime
    cut: bool = False
    held: Sequence[Held] = ()  # the legal holds that keep it
    gone: Mapping[str, Any] | None = None  # up to when the ledger's records have gone, see `retained.gone`

    @property
    def complete(self) -> bool:
        """Whether this is all that there ever was: nothing left out, and no records gone."""
        return not self.cut and self.gone is None

    def address(self, what: str = "") -> str:
        """Where it stands, or what belongs to it: `files`."""
        return reverse(f"dossier-{self.kind}{f'-{what}' if what else ''}", args=[self.name])


def of_effect(effect: Effect) -> Dossier:
    """One effect's."""
    title = words.title(effect.tool, effect.amount_minor, effect.currency, undo=effect.undo_of_id is not None)
    rows = _rows(Effect.objects.filter(pk=effect.pk))
    more: dict[str, Any] = {"held": held.of(effect), "gone": retained.gone()}
    return Dossier("effect", effect.key, title, rows, access.read_at(effect), **more)


def of_run(run: Run) -> Dossier:
    """All that one run did, or was about to do."""
    rows = _rows(Effect.objects.filter(run=run))
    title = f"All of {run.ref}"
    more: dict[str, Any] = {"cut": len(rows) > MOST, "held": held.of(run), "gone": retained.gone()}
    return Dossier("run", run.ref, title, rows[:MOST], access.read_at(run), **more)


def of_subject(subject: Subject) -> Dossier:
    """All about one order, customer or whatever it is, in all runs."""
    # The newest are chosen by the subject's own rows: else the server walks through everybody's effects for them.
    about = Subject.objects.filter(hash=subject.hash).order_by("-effect_id").values("effect_id")
    rows = _rows(Effect.objects.filter(pk__in=about[: MOST + 1]))
    more: dict[str, Any] = {"cut": len(rows) > MOST, "held": held.of(subject), "gone": retained.gone()}
    title = f"All about {subject.kind}"
    return Dossier("subject", subject.hash, title, rows[:MOST], access.read_at(subject), **more)


def titled(found: Dossier, cases: Sequence[Mapping[str, Any]]) -> str:
    """The title; a subject's with its name, as far as any of its effects, or the index, still has that."""
    if found.kind != "subject":
        return found.title
    about = (one["name"] for case in cases for one in case["about"] if one["hash"] == found.name)
    readable = (one for one in about if one and one not in (opened.GONE, opened.TAMPERED))
    name = next(readable, "") or subjects.name_of(found.name)
    return f"{found.title} {quoted(name) if name else opened.GONE}"


def _rows(found: QuerySet[Effect]) -> list[Row]:
    rows = found.order_by("-pk").values(*_COLUMNS, undone=Exists(groups.applied_undos()))
    return [dict(row) for row in rows[: MOST + 1]]


def page(found: Dossier, user: Any, *, after: int | None) -> dict[str, Any]:
    """What dossier.html shows: the head and the list of all, and a page of cases."""
    ids = [row["id"] for row in found.rows if after is None or row["id"] < after]
    here = ids[:SHOWN]
    cases = dossier.cases(dossier.whole(Effect.objects.filter(pk__in=here).order_by("-pk")))
    return {
        "dossier": {
            "kind": found.kind,
            "name": found.name,
            "title": titled(found, cases),
            "cut": found.cut,
            "address": found.address(),
            "files": found.address("files"),
        },
        "rows": [_row(row, here) for row in found.rows],
        "sums": sums(found.rows),
        "cases": cases,
        "shown": len(here),
        "older": here[-1] if len(ids) > SHOWN else "",
        "newer": after is not None,
        "by": access.actor(user),
        "zone": timezone.get_current_timezone_name(),
        "now": found.at,
    }


def _row(row: Row, here: Sequence[int]) -> dict[str, Any]:
    undo = row["undo_of_id"] is not None
    return {
        "key": row["key"],
        "title": words.title(row["tool"], row["amount_minor"], row["currency"], undo=undo),
        "state": row["state"],
        "undone": row["undone"],
        "receipt": row["receipt_id"],
        "at": row["recorded_at"],
        "anchor": f"case-{row['id']}" if row["id"] in here else "",
    }


def sums(rows: Sequence[Row]) -> list[totals.Money]:
    """What these effects moved, by currency."""
    return totals.sums_of(Tally(0, _like(row), 1, row["amount_minor"] or 0) for row in rows)


def _like(row: Row) -> Likeness:
    undo = row["undo_of_id"] is not None
    return Likeness("", "", "", row["currency"], row["state"], undo, row["undone"], "", ())
