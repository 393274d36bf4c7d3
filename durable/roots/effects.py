"""Holds what is kept beside the chains against them: the rows of effects, and what is sealed.

An event's body names digests. A row or a sealed box that belongs to an event must be the one that it names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from durable import vault
from durable.digest import about
from durable.roots.reading import Finding, Wire, one, stream
from durable.states import ActKind, EffectState, EventKind

_DRAFTED = (EventKind.INTENT.value, EventKind.NEW_ROUND.value, EventKind.EDITED.value)
_SETTLED = (EventKind.APPLIED.value, EventKind.ADOPTED.value)
_KINDS = [*_DRAFTED, EventKind.SENT.value, *_SETTLED]

_EFFECTS = """
SELECT coalesce(e.key, v.effect_key), v.run_ref, v.no, v.kind, v.body, e.ref, e.digest_asked, e.digest, e.asked,
       e.payload, e.amount_minor, e.currency, e.state, e.receipt_id, e.applied_no, e.tool, e.tool_version,
       e.effect_class, e.cut, e.once_per, e.about, e.astray
FROM (SELECT * FROM durable_ledgerevent WHERE effect_key <> '' AND kind = ANY(%s)) v
FULL JOIN (
    SELECT e.*, r.ref, p.digest AS payload, a.digest AS asked,
           (SELECT max(k.no) FROM durable_cut k WHERE k.run_ref = r.ref) AS cut,
           s.about, s.low <> e.run_id OR s.high <> e.run_id AS astray
    FROM durable_effect e JOIN durable_run r ON r.id = e.run_id
    LEFT JOIN (
        SELECT effect_id, array_agg(kind || ' ' || hash) AS about, min(run_id) AS low, max(run_id) AS high
        FROM durable_subject GROUP BY effect_id
    ) s ON s.effect_id = e.id
    LEFT JOIN durable_sealed p ON p.id = e.payload_id LEFT JOIN durable_sealed a ON a.id = e.payload_asked_id
) e ON e.key = v.effect_key
ORDER BY 1, v.id
"""
_WORDS = """
SELECT v.run_ref, v.no, v.body, coalesce(s.digest, w.digest) FROM durable_ledgerevent v
LEFT JOIN durable_eventdetail d ON d.event_id = v.id LEFT JOIN durable_sealed s ON s.id = d.sealed_id
LEFT JOIN durable_actwords w ON w.event_id = v.id
WHERE v.body LIKE '%%"words":%%'
"""
_BOXES = """
SELECT s.id, s.digest, s.box, r.ref, k.wrapped, k.destroyed_at IS NOT NULL OR s.box = ''::bytea
    AND EXISTS (SELECT FROM durable_cut c WHERE c.run_ref = r.ref) FROM durable_sealed s
LEFT JOIN durable_run r ON r.id = s.run_id LEFT JOIN durable_sealkey k ON k.run_id = s.run_id
ORDER BY s.id
"""
#: The same of what was said about objects outside of runs, each with its event.
_ACTS = """
SELECT w.digest, w.box, k.chain, k.wrapped, k.destroyed_at IS NOT NULL, v.no FROM durable_actwords w
JOIN durable_actkey k ON k.id = w.key_id LEFT JOIN durable_ledgerevent v ON v.id = w.event_id
ORDER BY w.id
"""
#: Keys that neither an erasure nor retention says to have destroyed. Of a chain that was cut the event may have gone.
_UNTOLD = f"""
SELECT r.ref FROM durable_sealkey k JOIN durable_run r ON r.id = k.run_id
WHERE k.wrapped IS NULL
  AND NOT EXISTS (
      SELECT FROM durable_ledgerevent v WHERE v.run_ref = r.ref AND (v.kind = '{ActKind.ERASED.value}'
          OR v.kind = '{EventKind.PRUNED.value}' AND v.body LIKE '%%"payloads":%%'))
  AND NOT EXISTS (SELECT FROM durable_cut c WHERE c.run_ref = r.ref)
ORDER BY k.id
"""
#: Where a box belongs that is not what it should be; looked for only then.
_OF_EVENT = """
SELECT v.no FROM durable_eventdetail d JOIN durable_ledgerevent v ON v.id = d.event_id WHERE d.sealed_id = %s
"""


@dataclass(slots=True)
class Held:
    """How much was held against the events, and how many boxes nobody can open any more."""

    effects: int = 0
    boxes: int = 0
    erased: int = 0


def facts_of(body: str) -> dict[str, Any]:
    """Return what an event's body says; nothing where it is no object of JSON."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def check(wire: Wire, held: Held) -> Iterator[Finding]:
    """Yield rows of effects that are not what their events say."""
    for key, rows in groupby(stream(wire, _EFFECTS, [_KINDS]), itemgetter(0)):
        held.effects += 1
        told = list(rows)
        run, first, ref, cut = told[0][1], told[0][2], told[0][5], told[0][18]
        if ref is None:
            yield Finding(f"the effect {key} that it speaks of has no row", run, first)
        elif run is None and cut is None:
            yield Finding(f"the effect {key} has a row, and no event speaks of it", ref)
        elif run is not None:
            yield from _effect(key, told, cut or 0)


def drafts_of(events: list[Any]) -> list[Any]:
    """The events by which an effect came to be about what it is about, in order."""
    return [(no, kind, facts) for no, kind, facts in events if kind in _DRAFTED]


def _effect(key: str, told: list[tuple[Any, ...]], cut: int) -> Iterator[Finding]:
    """One effect with its events, in order; those of its run up to the number `cut` have gone with their periods."""
    (*_, ref, digest_asked, digest, asked, payload, amount, currency, state, receipt, applied_no) = told[0][
        :15
    ]
    if told[0][1] != ref:
        yield Finding(f"the effect {key} that it speaks of belongs to {ref}", told[0][1], told[0][2])
    events = [(no, kind, facts_of(body)) for _, _, no, kind, body, *_ in told]
    for name, value in zip(("tool", "tool_version", "class"), told[0][15:18], strict=True):
        # What a new round is of, a newer version of the tool may have said; its event says no more than the digest.
        if (
            events[0][1] == EventKind.INTENT
            and len(drafts_of(events)) == 1
            and events[0][2].get(name) != value
        ):
            yield Finding(f"the row of {key} has another {name} than this event", ref, events[0][0])
    drafts = drafts_of(events)
    last, kind, drafted = drafts[-1] if drafts else (told[0][2], "", {})
    asked_for = {facts.get("digest") for _, kind, facts in drafts if kind != EventKind.EDITED}
    # Of one whose beginning has gone only what is left can be held against it.
    whole = not cut or any(kind == EventKind.INTENT for _, kind, _ in events)
    wrong = digest != drafted.get("digest") or digest_asked not in asked_for
    if wrong if whole else drafts and digest != drafted.get("digest"):
        yield Finding(f"the row of {key} has another digest than this event", ref, last)
    if payload != digest or asked != digest_asked:
        yield Finding(f"the payload of {key} is another one than its digest says", ref, last)
    meant = (drafted.get("amount_minor"), drafted.get("currency", ""))
    # Rounds that were opened before they told the amount say nothing of it.
    if (kind == EventKind.INTENT or "currency" in drafted) and (amount, currency) != meant:
        yield Finding(f"the row of {key} has another amount than this event", ref, last)
    once_per, subjects, astray = told[0][19:]
    if "about" in drafted and (astray or about(key, once_per, subjects or ()) != drafted["about"]):
        yield Finding(f"the rows of {key} say that it is about others than this event", ref, last)
    for no, kind, facts in events:
        if kind == EventKind.SENT and facts.get("digest") != digest and no > last:
            yield Finding(f"what was sent is not what the row of {key} says", ref, no)
    if not (state == EffectState.APPLIED and 0 < (applied_no or 0) <= cut):
        yield from _settled(key, ref, events, (state, receipt, applied_no, digest))


def _settled(key: str, ref: str, events: list[Any], row: tuple[Any, ...]) -> Iterator[Finding]:
    """Whether it was applied, and by which receipt."""
    state, receipt, applied_no, digest = row
    applied = [(no, facts) for no, kind, facts in events if kind in _SETTLED]
    if bool(applied) != (state == EffectState.APPLIED):
        says = "it was applied" if applied else "of no receipt"
        yield Finding(
            f"the row of {key} says that it is {state}; its events say {says}",
            ref,
            applied_no or events[-1][0],
        )
    for no, facts in applied:
        if (facts.get("receipt"), facts.get("digest"), no) != (receipt, digest, applied_no):
            yield Finding(f"the row of {key} has another receipt than this event", ref, no)


def check_sealed(wire: Wire, held: Held) -> Iterator[Finding]:
    """Yield what is sealed and is not what its digest says. Raises vault.WrongKey where nothing can be opened here."""
    vault.prove()
    for run, no, body, digest in stream(wire, _WORDS):
        if digest != facts_of(body).get("words"):
            yield Finding("the words beside it are not those that it names", run, no)
    for id, digest, box, ref, wrapped, destroyed in stream(wire, _BOXES):
        held.boxes += 1
        key = None if wrapped is None else _key(wrapped, ref)
        if (wrapped is None or not box) and destroyed:
            held.erased += 1
        elif key is None or not _holds(key, digest, box):
            row = one(wire, _OF_EVENT, [id])
            what = f"what is sealed as {digest[:16]} was changed or swapped, or its key was"
            yield Finding(what, ref or f"sealed box {id}", row[0] if row else 0)
    yield from _acts(wire, held)
    for (ref,) in stream(wire, _UNTOLD):
        yield Finding("its key was destroyed, and no event says who erased what was sealed under it", ref)


def _acts(wire: Wire, held: Held) -> Iterator[Finding]:
    """The same of what people said in acts outside of runs."""
    for digest, box, chain, wrapped, destroyed, no in stream(wire, _ACTS):
        held.boxes += 1
        key = None if wrapped is None else _key(wrapped, chain)
        if wrapped is None and destroyed:
            held.erased += 1
        elif no is None or key is None or not _holds(key, digest, box):
            what = f"what is sealed as {digest[:16]} was changed or swapped, or its key was"
            yield Finding(what, chain, no or 0)


@lru_cache(maxsize=4_096)
def _key(wrapped: bytes, run_ref: str) -> bytes | None:
    try:
        return vault.unwrap(wrapped, run_ref)
    except vault.Tampered:
        return None


def _holds(key: bytes, digest: str, box: bytes) -> bool:
    """Whether a box opens under its run's key, and holds what its digest says."""
    try:
        vault.proven(key, digest, box)
    except vault.Tampered:
        return False
    return True
