"""What stands beside the runs of somebody who is to be erased, and names them: what people wrote in the log, saved
views, queries and reasons of acts on many, reasons of stop orders and restores, words about legal holds; and every file
made for somebody to take: any may.

It is found as runs are found by what was written into them: by whole names of four letters or more. What was shown
goes, by its numbers, and nothing else; of files all that are there then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from approvals.exports import orders
from approvals.models import BulkAct, Export, RunView
from approvals.states import UNDER_WAY_VALUES, ExportState
from durable import acts, concerned, holds, stops, vault
from durable.concerned import Called
from durable.erasure_orders import FILES
from durable.errors import InterlockError
from durable.models import ActWords, Erasure, LegalHold
from durable.sql import answers
from durable.states import ActKind

#: Kinds of what is kept; `FILES` is one more. Of a hold's words one kind each, with their name behind the space.
WORDS, VIEWS, QUERIES, REASONS, HOLDS = "words", "views", "queries", "reasons", "hold"
STOPS, RESTORES = "stops", "restores"
#: Words in the log that are about addresses and browsers of people who work here, never about customers.
_OF_STAFF = (ActKind.SIGNED_IN, ActKind.SIGNED_OUT, ActKind.SIGN_IN_REFUSED)
_STANDS = (ExportState.MADE.value, *UNDER_WAY_VALUES)
#: What is in clear names the person if it is found at all; of the words about holds this has the sealed box.
_FOUND = f"""
SELECT '{VIEWS}', v.id, u.username, '', v.at, NULL::bytea
    FROM approvals_runview v JOIN auth_user u ON u.id = v.person_id
    WHERE v.name ~* %(words)s OR v.query ~* %(words)s
UNION ALL SELECT '{QUERIES}', b.id, u.username, b.act, b.drafted_at, NULL
    FROM approvals_bulkact b JOIN auth_user u ON u.id = b.person_id WHERE b.query ~* %(words)s
UNION ALL SELECT '{REASONS}', b.id, u.username, b.act, b.drafted_at, NULL
    FROM approvals_bulkact b JOIN auth_user u ON u.id = b.person_id WHERE b.reason ~* %(words)s
UNION ALL SELECT '{STOPS}', s.id, s.actor, s.scope || ' ' || s.name, s.at, NULL
    FROM durable_stop s WHERE s.reason ~* %(words)s
UNION ALL SELECT '{RESTORES}', r.id, r.actor, '', r.at, NULL FROM durable_recovery r WHERE r.reason ~* %(words)s
UNION ALL SELECT '{FILES}', x.id, u.username, x.of || ', ' || x.form, x.asked_at, NULL
    FROM approvals_export x JOIN auth_user u ON u.id = x.person_id WHERE x.state = ANY(%(states)s)
UNION ALL SELECT '{HOLDS}', h.id, h.actor, '', h.at, h.box FROM durable_legalhold h
ORDER BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """One thing that goes with an erasure: of which kind, its number, whose it is, what it is about, and since when."""

    kind: str
    pk: int
    who: str
    about: str
    at: datetime


def look(called: Sequence[Called]) -> list[Kept]:
    """All that names somebody beside their runs, and every file."""
    values = {"words": concerned.pattern(called) or None, "states": list(_STANDS)}
    found = list(_said(called))
    for kind, pk, who, about, at, box in answers(_FOUND, values):
        parts = [kind] if box is None else [f"{HOLDS} {part}" for part in _named(called, pk, bytes(box))]
        found += [Kept(part, pk, who, about, at) for part in parts]
    return found


def numbers(kept: Iterable[Kept]) -> dict[str, list[int]]:
    """The same by kind and number: what is remembered of it, which names nobody."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for one in kept:
        found[one.kind].append(one.pk)
    return {kind: sorted(found[kind]) for kind in sorted(found)}


def _said(called: Sequence[Called]) -> Iterator[Kept]:
    """The acts outside of runs whose sealed words name the person."""
    kinds = [kind.value for kind in ActKind if kind not in _OF_STAFF]
    found = ActWords.objects.select_related("key", "event").filter(
        event__kind__in=kinds, key__destroyed_at=None
    )
    for said in found.order_by("event_id").iterator():
        try:
            words = vault.read_act(said)
        except InterlockError:  # nobody can read it, so it names nobody
            continue
        if concerned.names(called, words):
            event = said.event
            yield Kept(WORDS, event.pk, event.actor, f"{event.kind}, {event.run_ref}", event.at)


def _named(called: Sequence[Called], hold: int, box: bytes) -> list[str]:
    """The parts of what people wrote about a hold that name the person. Of a standing one, too: they go only if it is
    lifted by then.
    """
    try:
        said = holds.words(LegalHold(pk=hold, box=box))
    except InterlockError:
        return []
    return [part for part, text in said._asdict().items() if concerned.names(called, text)]


def forget(erasure: Erasure) -> None:
    """Forget what an erasure has remembered by its numbers, and every file; in the commit that says so.

    What has gone already is passed over. `durable.erasure_orders` calls it once no legal hold keeps the person's runs.
    """
    remembered: Mapping[str, Sequence[int]] = erasure.beside or {}
    _drop_views(remembered.get(VIEWS, ()))
    BulkAct.objects.filter(pk__in=remembered.get(QUERIES, ())).update(query="")
    BulkAct.objects.filter(pk__in=remembered.get(REASONS, ())).update(reason="(erased)")
    stops.forget(remembered.get(STOPS, ()), remembered.get(RESTORES, ()))
    still = ActWords.objects.filter(event__in=remembered.get(WORDS, ()), key__destroyed_at=None)
    for event in still.order_by("event_id").values_list("event_id", flat=True):
        vault.forget_words(event)
    holds.forget({name: remembered.get(f"{HOLDS} {name}", ()) for name in holds.Words._fields})
    _drop_files(erasure.agreed_by or erasure.actor)


def _drop_views(pks: Sequence[int]) -> None:
    views = RunView.objects.filter(pk__in=pks)
    for view in views.select_related("person").order_by("pk"):
        acts.record(
            ActKind.VIEW_DELETED,
            actor="interlock",
            about=acts.person(view.person_id),
            body={"view": view.pk, "why": "erasure"},
        )
    views.delete()


def _drop_files(actor: str) -> None:
    """Take away every file that was made for somebody to take: any may hold what is erased. They are made anew."""
    kept = Q(state__in=_STANDS)
    for export in Export.objects.select_for_update().filter(kept).order_by("pk"):
        made = export.state == ExportState.MADE
        to, what = (
            (ExportState.DELETED, ActKind.EXPORT_DELETED)
            if made
            else (ExportState.STOPPED, ActKind.EXPORT_STOPPED)
        )
        orders.end(export, to, what, actor, "a person's data was erased; ask for it anew")
