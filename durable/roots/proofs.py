"""Proofs that an event stands in a signed root: its facts, the hash before it, and the path to the root's hash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from durable.errors import NotFound
from durable.roots.merkle import Levels, climb
from durable.roots.reading import Wire, one, stream
from durable.roots.statement import Statement, leaf_of_event, moment, parse

#: An event with the hash that it follows: its predecessor's, or that of the cut after which its chain begins.
_CHOSEN = """
SELECT e.id, e.run_ref, e.no, e.kind, e.effect_key, e.actor, e.at, e.body, e.hash,
       coalesce(p.hash, (SELECT k.hash FROM durable_cut k WHERE k.run_ref = e.run_ref AND k.no = e.no - 1
                         ORDER BY k.root_id DESC LIMIT 1), ''::bytea)
FROM durable_ledgerevent e LEFT JOIN durable_ledgerevent p ON p.run_ref = e.run_ref AND p.no = e.no - 1
WHERE {which} ORDER BY e.id
"""
_ROOT_OF = """
SELECT statement, coalesce((SELECT b.last FROM durable_root b WHERE b.number < r.number ORDER BY b.number DESC LIMIT 1),
                           0)
FROM durable_root r WHERE last >= %s ORDER BY number LIMIT 1
"""
_LEAVES = "SELECT id, run_ref, no, hash FROM durable_ledgerevent WHERE id > %s AND id <= %s ORDER BY id"


@dataclass(frozen=True, slots=True)
class Proof:
    """Where an event stands: in the root of this statement, at `place` (from 0) of its leaves, with the hashes beside
    the way up, from below.
    """

    statement: Statement
    place: int
    path: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Proven:
    """An event as its hash is made, and its proof; without one while no root covers it."""

    id: int
    run: str
    no: int
    kind: str
    key: str
    actor: str
    at: str
    body: str
    hash: str
    previous: str
    proof: Proof | None

    def plain(self) -> dict[str, Any]:
        """The same as plain JSON, as a bundle has it and `durable/roots/standalone.py` reads it."""
        names = ("id", "run", "no", "kind", "key", "actor", "at", "body", "hash", "previous")
        found = {name: getattr(self, name) for name in names}
        if self.proof is None:
            return found | {"root": None}
        return found | {
            "root": self.proof.statement.number,
            "place": self.proof.place,
            "path": [hash.hex() for hash in self.proof.path],
        }

    def leads_to(self) -> str:
        """Return the hash to which its proof leads; it is proven where that is the one that was signed."""
        if self.proof is None:
            return ""
        leaf = leaf_of_event(self.id, self.run, self.no, bytes.fromhex(self.hash))
        found = climb(leaf, self.proof.place, self.proof.statement.count, self.proof.path)
        return "" if found is None else found.hex()

    @property
    def proven(self) -> bool:
        """Whether its proof leads to the hash that its root's statement has."""
        return self.proof is not None and self.leads_to() == self.proof.statement.hash


class _Period:
    """One period's leaves, as long as events of it are asked for."""

    def __init__(self, wire: Wire, text: str, after: int) -> None:
        self.statement = parse(text)
        rows = list(stream(wire, _LEAVES, [after, self.statement.last]))
        self.places = {id: place for place, (id, *_) in enumerate(rows)}
        self.levels = Levels([leaf_of_event(*row) for row in rows])

    def proof(self, id: int) -> Proof:
        place = self.places[id]
        return Proof(self.statement, place, tuple(self.levels.path(place)))


def of_events(
    wire: Wire, *, runs: Sequence[str] = (), effects: Sequence[str] = (), ids: Sequence[int] = ()
) -> Iterator[Proven]:
    """Yield the events of these runs and effects, and those with these ids, in the order of their ids, with proofs.

    One period is in memory at a time. A period that does not hold what was signed still gives paths: they lead
    elsewhere, and whoever checks them sees it.
    """
    which = "e.run_ref = ANY(%s) OR e.effect_key = ANY(%s) OR e.id = ANY(%s)"
    period: _Period | None = None
    rooted = True
    for row in stream(wire, _CHOSEN.format(which=which), [list(runs), list(effects), list(ids)]):
        id, run, no, kind, key, actor, at, body, hash, previous = row
        if rooted and (period is None or id > period.statement.last):
            found = one(wire, _ROOT_OF, [id])
            rooted = found is not None
            period = _Period(wire, *found) if found else None
        proof = period.proof(id) if period else None
        yield Proven(
            id,
            run,
            no,
            kind,
            key,
            actor,
            moment(at),
            body,
            hash.hex(),
            previous.hex() if previous else "",
            proof,
        )


def of_event(wire: Wire, run: str, no: int) -> Proven:
    """Return one event with its proof. Raises NotFound."""
    row = one(wire, "SELECT id FROM durable_ledgerevent WHERE run_ref = %s AND no = %s", [run, no])
    if row is None:
        raise NotFound(f"no event {no} of {run}")
    return next(of_events(wire, ids=[row[0]]))
