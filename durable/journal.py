"""The ledger's pen: appends events. Number, time and hash are set by the database, in the transaction that
makes them true.

Bodies are canonical JSON without personal data. What a person wrote goes into `words`, sealed and erasable; the event
keeps its digest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from durable import vault
from durable.digest import canonical
from durable.models import EventDetail, LedgerEvent, Run, Sealed
from durable.sql import answers
from durable.states import ActKind, EventKind

#: The actor of what nobody in particular did.
ENGINE = "interlock"


@dataclass(frozen=True, slots=True)
class Entry:
    """One event to be: `body` holds plain JSON facts, `words` a person's text."""

    kind: EventKind | ActKind
    effect_key: str = ""
    actor: str = ENGINE
    body: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""


_INSERT = """
INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body)
SELECT %(ref)s, e.kind, e.effect_key, e.actor, e.body
FROM unnest(%(kinds)s::text[], %(keys)s::text[], %(actors)s::text[], %(bodies)s::text[])
     WITH ORDINALITY AS e (kind, effect_key, actor, body, place)
ORDER BY e.place
RETURNING id, no
"""


def append(run: Run, entries: Sequence[Entry], *, key: bytes | None = None) -> list[int]:
    """Append `entries` to the run's chain, in order, in the caller's transaction. Returns their numbers in the run.

    `key` is the run's sealing key where the caller has it at hand; it is fetched when words need sealing.
    """
    boxes: list[tuple[int, str, bytes]] = []
    bodies = []
    for place, entry in enumerate(entries):
        body = dict(entry.body)
        if entry.words:
            key = key or vault.open_key(run.pk, run.ref)
            digest, boxed = vault.box(key, entry.words)
            boxes.append((place, digest, boxed))
            body["words"] = digest
        bodies.append(canonical(body).decode())
    rows = answers(
        _INSERT,
        {
            "ref": run.ref,
            "kinds": [str(e.kind) for e in entries],
            "keys": [e.effect_key for e in entries],
            "actors": [one_line(e.actor) for e in entries],
            "bodies": bodies,
        },
    )
    for place, digest, boxed in boxes:
        attach(run, rows[place][0], digest, boxed)
    return [no for _, no in rows]


def attach(run: Run, event_id: int, digest: str, boxed: bytes) -> None:
    """Put sealed words beside an event, whose body keeps their digest."""
    sealed = Sealed.objects.create(run=run, digest=digest, box=boxed)
    EventDetail.objects.create(event_id=event_id, sealed=sealed)


def one_line(actor: str) -> str:
    """Return an actor's name as the chain takes it: without line breaks."""
    return actor.replace("\n", " ")


def record(
    run: Run,
    kind: EventKind | ActKind,
    *,
    actor: str = ENGINE,
    effect_key: str = "",
    words: str = "",
    body: Mapping[str, Any] | None = None,
) -> int:
    """Append one event; returns its number in the run."""
    return append(run, [Entry(kind, effect_key, actor, body or {}, words)])[0]


def events(run_ref: str, *, effect_key: str | None = None) -> list[LedgerEvent]:
    """Return the events of a run, or of one of its effects, in order."""
    found = LedgerEvent.objects.filter(run_ref=run_ref)
    if effect_key is not None:
        found = found.filter(effect_key=effect_key)
    return list(found.order_by("no"))
