"""Holds the database against what anchors have kept of it: the only thing that a superuser of it can't rewrite."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from durable.roots import signing
from durable.roots.reading import Finding, Wire, one, stream
from durable.roots.statement import Malformed, from_line, parse

_STRETCH = 1_000
_THERE = "SELECT number, statement FROM durable_root WHERE number = ANY(%s)"
_LAST = "SELECT last FROM durable_root WHERE number = %s"
_WINDOW = """
SELECT count(*), min(at) FROM (
    SELECT at FROM durable_ledgerevent WHERE id > %s AND at BETWEEN '0001-01-02' AND '9999-12-30'
) AS open
"""


@dataclass(slots=True)
class Kept:
    """What was kept outside: how many lines, and the newest statement of them that the database has as well.

    `notes` are lines that say nothing, because a kill has torn them: no harm by themselves.
    """

    lines: int = 0
    newest: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Window:
    """Events that nothing outside speaks of yet: a superuser could change them, or cut them off, and nobody would know.

    `since` is the moment of the first of them; `after` the newest root that is kept outside, 0 for none.
    """

    after: int
    events: int
    since: datetime | None


def check(wire: Wire, lines: Iterable[str], trusted: Collection[str], kept: Kept) -> Iterator[Finding]:
    """Yield where the database is not what was kept outside of it; fills `kept`."""
    numbered = ((at, line) for at, line in enumerate(lines, 1) if line.strip())
    while stretch := list(islice(numbered, _STRETCH)):
        told: dict[int, list[str]] = {}
        for at, line in stretch:
            try:
                text, signature = from_line(line)
                statement = parse(text)
            except Malformed as error:
                kept.notes.append(f"line {at} of what was kept outside: {error}")
                continue
            kept.lines += 1
            if not signing.signed_by_trusted(text, signature, statement.key, trusted):
                yield Finding(
                    f"line {at} of what was kept outside is not signed with a key of ours",
                    root=statement.number,
                )
                continue
            told.setdefault(statement.number, []).append(text)
        there = dict(stream(wire, _THERE, [list(told)]))
        for number, texts in told.items():
            yield from _compare(number, texts, there.get(number), kept)


def _compare(number: int, texts: list[str], there: str | None, kept: Kept) -> Iterator[Finding]:
    if there is None:
        yield Finding("it was kept outside, and is not in the database", root=number)
    elif any(text != there for text in texts):
        yield Finding("what was kept outside under its number is another statement", root=number)
    else:
        kept.newest = max(kept.newest, number)


def window(wire: Wire, after: int) -> Window:
    """Return the events that no statement up to the number `after` speaks of."""
    row = one(wire, _LAST, [after])
    events, since = one(wire, _WINDOW, [row[0] if row else 0]) or (0, None)
    return Window(after, events, since)
