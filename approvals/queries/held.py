"""Legal holds for the eye: the list of them, and what a page of something held says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from approvals.queries import pages, subjects
from durable import holds, vault
from durable.models import Effect, LegalHold, Run, Subject
from durable.sql import answers
from durable.states import HoldScope

#: Runs of one hold are counted up to this many.
_COUNT = f"""
SELECT h.id, (SELECT count(*) FROM (
    SELECT DISTINCT x.run_id FROM durable_heldrun x WHERE x.hold_id = h.id LIMIT {pages.COUNTED + 1}) AS counted)
FROM durable_legalhold h WHERE h.id = ANY(%(holds)s::bigint[])
"""
_UNREADABLE = holds.Words("(can't be read: it was changed)")


def listing(*, after: int | None, before: int | None) -> dict[str, Any]:
    """One page of holds, the newest first. See hold_list.html."""
    found = LegalHold.objects.all()
    shown = pages.page(found.values("id"), after=after, before=before)
    rows = LegalHold.objects.select_related("run").in_bulk([row["id"] for row in shown.rows])
    runs: dict[int, int] = dict(answers(_COUNT, {"holds": list(rows)}))
    lines = [_line(rows[row["id"]], runs) for row in shown.rows]
    page = shown.context(pages.count(found))
    return {"holds": lines, "page": page, "version": pages.version(lines, page)}


def _line(hold: LegalHold, runs: Mapping[int, int]) -> dict[str, Any]:
    try:
        said = holds.words(hold)
    except vault.Tampered:
        said = _UNREADABLE
    return {
        "id": hold.pk,
        "scope": hold.scope,
        **_about(hold, said.search),
        "zone": str(holds.zone(hold)) if hold.scope == HoldScope.SEARCH else "",
        "reason": said.reason,
        "actor": hold.actor,
        "at": hold.at,
        "lifted_by": hold.lifted_by,
        "lifted_at": hold.lifted_at,
        "lifted": said.lifted,
        "runs": pages.words(runs.get(hold.pk, 0)) if hold.lifted_at is None else "",
        "trouble": hold.trouble if hold.lifted_at is None else "",
    }


def _about(hold: LegalHold, search: str) -> dict[str, str]:
    """What a hold is about, in words, and where that is to be seen."""
    if hold.run is not None:
        return {"words": hold.run.ref, "href": reverse("run", args=[hold.run.ref])}
    if hold.scope == HoldScope.SUBJECT:
        name = subjects.name_of(hold.hash) or f"{hold.hash[:16]}…"
        return {"words": f"{hold.kind} {name}", "href": reverse("dossier-subject", args=[hold.hash])}
    return {"words": search, "href": f"{reverse('ledger')}?{urlencode({'q': search})}"}


@dataclass(frozen=True, slots=True)
class Held:
    """One hold that keeps what a page is about."""

    pk: int
    actor: str
    at: datetime


def of(found: Run | Effect | Subject) -> list[Held]:
    """The holds for which a run, an effect or a subject is kept, the oldest first; as `access` has read them."""
    told = {one["pk"]: one for one in getattr(found, "legally_held", ())}
    return [Held(one["pk"], one["actor"], datetime.fromisoformat(one["at"])) for one in told.values()]


def standing() -> list[LegalHold]:
    """All holds that are not lifted, the oldest first."""
    return list(LegalHold.objects.filter(lifted_at=None).order_by("pk"))
