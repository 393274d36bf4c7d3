"""Goes through every statement: its place in the chain of statements, its signature, and the events that it is over."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from durable.roots import signing
from durable.roots.merkle import Tree
from durable.roots.reading import Finding, Wire, one, stream
from durable.roots.statement import (
    NOTHING,
    Malformed,
    Statement,
    hash_of,
    leaf_of_cut,
    leaf_of_event,
    parse,
)

_STATEMENTS = "SELECT number, last, statement, signature FROM durable_root WHERE number <= %s ORDER BY number"
_EVENTS = "SELECT id, run_ref, no, hash FROM durable_ledgerevent WHERE id <= %s ORDER BY id"
#: Beyond every number and id there is.
_ALL = 2**63 - 1
_CUTS = """
SELECT run_ref, no, hash FROM durable_cut WHERE root_id = %s ORDER BY run_ref COLLATE "C"
"""
_GONE = (
    "SELECT statement FROM durable_root WHERE statement LIKE 'interlock-cut-%%' ORDER BY number DESC LIMIT 1"
)

Event = tuple[Any, ...]


@dataclass(slots=True)
class Covered:
    """What the statements speak of: how many there are, how many events they are over, and how many have gone.

    `beyond` counts events that no statement covers yet.
    """

    statements: int = 0
    events: int = 0
    gone: int = 0
    beyond: int = 0
    #: The newest statement.
    newest: Statement | None = None


@dataclass(slots=True)
class _Chain:
    """The chain of statements as far as it has been followed."""

    trusted: Collection[str]
    number: int = 0
    previous: str = NOTHING
    last: int = 0
    at: datetime | None = None
    foreign: set[str] = field(default_factory=set)

    def follow(self, number: int, statement: Statement, text: str, signature: bytes) -> Iterator[Finding]:
        """Say what is wrong with the next statement as such, and go on from it."""
        if number != self.number + 1:
            yield Finding(f"it is missing; the next that is there is {number}", root=self.number + 1)
        elif statement.previous != self.previous:
            yield Finding("it follows another statement than the one that is there", root=number)
        if statement.number != number:
            yield Finding(f"the statement in its place is that of root {statement.number}", root=number)
        if statement.key not in self.trusted:
            if statement.key not in self.foreign:
                yield Finding(
                    f"it is signed with the key {statement.key}, which is none of ours", root=number
                )
            self.foreign.add(statement.key)
        elif not signing.signed(text, signature, statement.key):
            yield Finding("its signature is not that of its text", root=number)
        if self.at is not None and statement.at < self.at - timedelta(minutes=1):
            yield Finding("it is dated before the statement that it follows", root=number)
        self.number, self.previous, self.at = number, hash_of(text), statement.at


def check(
    wire: Wire, trusted: Collection[str], covered: Covered, *, number: int = _ALL, last: int = _ALL
) -> Iterator[Finding]:
    """Yield what is wrong with the statements and with the events that they are over; fills `covered`.

    With `number` and `last` only up to this statement, and the event with this id.
    """
    gone = gone_up_to(wire)
    events = stream(wire, _EVENTS, [last])
    ahead: Event | None = next(events, None)
    chain = _Chain(trusted)
    for place, ends, text, signature in stream(wire, _STATEMENTS, [number]):
        covered.statements += 1
        try:
            statement = parse(text)
        except Malformed as error:
            yield Finding(str(error), root=place)
            chain.number, chain.previous = place, hash_of(text)
            continue
        yield from chain.follow(place, statement, text, signature)
        covered.newest = statement
        if statement.is_cut:
            yield from _cut(wire, statement)
            continue
        if statement.last != ends or statement.first <= chain.last:
            yield Finding("its period is not the one that follows the period before it", root=place)
        tree, first = Tree(), 0
        while ahead is not None and ahead[0] <= statement.last:
            first = first or ahead[0]
            tree.add(leaf_of_event(*ahead))
            ahead = next(events, None)
        chain.last = max(chain.last, statement.last)
        covered.events += tree.count
        if statement.last <= gone:
            covered.gone += statement.count
        else:
            yield from _compare(statement, tree, first)
    if ahead is not None:
        covered.beyond = 1 + sum(1 for _ in events)


def _compare(statement: Statement, tree: Tree, first: int) -> Iterator[Finding]:
    """One period as it is against what was signed about it."""
    period = f"events with the ids {statement.first} to {statement.last}"
    if tree.count != statement.count:
        what = f"{tree.count} {period} are there; it was made over {statement.count}"
        yield Finding(what, root=statement.number)
    elif tree.root().hex() != statement.hash or first != statement.first:
        yield Finding(f"the {period} are not those that it was made over", root=statement.number)


def _cut(wire: Wire, statement: Statement) -> Iterator[Finding]:
    """The cuts that one statement vouches for."""
    tree = Tree()
    for run, no, hash in stream(wire, _CUTS, [statement.number]):
        tree.add(leaf_of_cut(run, no, hash))
    if (tree.count, tree.root().hex()) != (statement.count, statement.hash):
        yield Finding("the cuts of chains are not those that it was made over", root=statement.number)


def gone_up_to(wire: Wire) -> int:
    """Return the id up to which events have gone with their whole periods; 0 where none have.

    What says so is a statement: that it is signed and in its place is found with all others.
    """
    row = one(wire, _GONE)
    try:
        return parse(row[0]).gone if row else 0
    except Malformed:
        return 0
