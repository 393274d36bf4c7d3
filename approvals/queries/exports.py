"""A person's exports as their page shows them: how far each is, how large, until when; and what a new one would be."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from approvals.exports import sources
from approvals.exports.sources import Source
from approvals.models import Export
from approvals.queries import pages
from approvals.states import UNDER_WAY, ExportForm, ExportState
from durable.clock import db_now
from durable.models.fields import Clock

FORMS = {
    ExportForm.CSV: ("CSV", "A table for spreadsheets and programs; no cell of it is computed."),
    ExportForm.JSONL: ("JSON Lines", "An object a line, for programs."),
    ExportForm.BUNDLE: (
        "Bundle with proofs",
        "The ledger's events with their proofs, in a ZIP that verifies itself.",
    ),
}


def listing(person: User, *, after: int | None, before: int | None) -> dict[str, Any]:
    """What export_list.html shows."""
    found = Export.objects.filter(person=person)
    page = pages.page(found.values(), after=after, before=before)
    silent = set(
        found.filter(pk__in=[row["id"] for row in page.rows], state=ExportState.MAKING.value, lease_until__lt=Clock())
        .values_list("pk", flat=True)
    )  # fmt: skip
    shown = [_row(row, row["id"] in silent) for row in page.rows]
    return {
        "exports": shown,
        "page": page.context(pages.count(found)),
        "live": any(row["under_way"] for row in shown),
        "version": version(page.rows, silent),
        "now": db_now(),
    }


def version(rows: list[pages.Row], silent: set[int]) -> str:
    """Of what the page shows."""
    return pages.version(
        [(row["id"], row["state"], row["rows"], row["total"]) for row in rows], sorted(silent)
    )


def _row(row: pages.Row, silent: bool) -> dict[str, Any]:
    state = ExportState(row["state"])
    label, _ = sources.KINDS.get(row["of"], (row["of"], None))
    total = row["total"] or 0
    return {
        "id": row["id"],
        "label": label,
        "query": row["query"],
        "form": FORMS[ExportForm(row["form"])][0],
        "state": state.value,
        "under_way": state in UNDER_WAY,
        "made": state is ExportState.MADE,
        "rows": row["rows"],
        "total": row["total"],
        "counted": total and row["form"] != ExportForm.BUNDLE,
        "silent": silent,
        "size": row["bytes"],
        "asked_at": row["asked_at"],
        "ended_at": row["ended_at"],
        "expires_at": row["expires_at"],
        "sha256": row["manifest"].get("sha256", ""),
        "words": row["words"],
    }


def draft(of: str, query: str, source: Source | None) -> dict[str, Any]:
    """What export_new.html shows: how many rows it would be, and the forms to choose from."""
    number = source.number if source else 0
    much = number is None or number > sources.BUNDLED
    forms = [
        {"value": form.value, "name": name, "words": words}
        for form, (name, words) in FORMS.items()
        if not (form is ExportForm.BUNDLE and much)
    ]
    return {
        "of": of,
        "label": sources.KINDS[of][0],
        "q": query,
        "source": source is not None,
        "number": pages.words(pages.COUNTED + 1) if number is None else f"{number:,}",
        "one": number == 1,
        "none": number == 0,
        "acts": of == "log",
        "forms": forms,
        "bundled": f"{sources.BUNDLED:,}" if much else "",
        "columns": [one.name for one in source.columns] if source else [],
    }
