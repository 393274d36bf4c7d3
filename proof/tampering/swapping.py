"""The eighth kind: what was sealed beside the ledger is swapped for something else."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from typing import Any

from durable import vault
from durable.digest import canonical
from proof.tampering.hand import Event, Wire, events_of

_SEALED = """
SELECT s.id, s.digest, s.box, r.ref FROM durable_sealed s JOIN durable_run r ON r.id = s.run_id
WHERE s.id IN (SELECT payload_id FROM durable_effect) OR s.id IN (SELECT sealed_id FROM durable_eventdetail)
ORDER BY s.id
"""
_PAYLOAD = """
SELECT e.key, p.id, p.digest, p.box FROM durable_effect e
JOIN durable_run r ON r.id = e.run_id JOIN durable_sealed p ON p.id = e.payload_id
WHERE r.ref = %s AND e.payload_id = e.payload_asked_id ORDER BY e.id LIMIT 1
"""


@dataclass(frozen=True)
class Swapped:
    """What was done: in which run, and, where its events say so too, what they are to be."""

    run: str
    events: list[Event]
    no: int = 0


def beside(wire: Wire, chance: random.Random) -> Swapped:
    """Swap what two boxes hold, or seal something else under the right key in one's place; no event is touched."""
    rows: list[Any] = wire.execute(_SEALED).fetchall()
    one, other = chance.sample(rows, 2)
    match chance.randrange(3):
        case 0:  # the boxes alone
            _box(wire, one[0], one[1], other[2])
        case 1:  # what belongs to one effect now belongs to another
            _box(wire, one[0], other[1], other[2])
        case _:  # by whoever has the key too
            key = _key(wire, one[3])
            _box(wire, one[0], one[1], vault.box_of(key, canonical("quite another text"), one[1]))
    return Swapped(one[3], [])


def throughout(wire: Wire, run: str) -> Swapped | None:
    """Put another payload under an effect, and its digest into all its events and rows. None where it has none."""
    found = wire.execute(_PAYLOAD, [run]).fetchone()
    if found is None:
        return None
    effect, sealed, digest, box = found
    key = _key(wire, run)
    forged = {**json.loads(vault.proven(key, digest, bytes(box))), "args": {"forged": "yes"}}
    new, new_box = vault.box(key, forged)
    _box(wire, sealed, new, new_box)
    wire.execute(
        "UPDATE durable_effect SET digest = %s, digest_asked = %s WHERE key = %s", [new, new, effect]
    )
    for table in ("approvals_gate", "approvals_decision"):
        wire.execute(f"UPDATE {table} SET digest = %s WHERE digest = %s".encode(), [new, digest])
    events = [replace(event, body=event.body.replace(digest, new)) for event in events_of(wire, run)]
    first = next(event.no for event, old in zip(events, events_of(wire, run), strict=True) if event != old)
    return Swapped(run, events, first)


def _box(wire: Wire, id: int, digest: str, box: bytes) -> None:
    wire.execute("UPDATE durable_sealed SET digest = %s, box = %s WHERE id = %s", [digest, box, id])


def _key(wire: Wire, run: str) -> bytes:
    row = wire.execute(
        "SELECT k.wrapped FROM durable_sealkey k JOIN durable_run r ON r.id = k.run_id WHERE r.ref = %s",
        [run],
    ).fetchone()
    assert row is not None
    return vault.unwrap(bytes(row[0]), run)
