"""How a run stands, under short names: what an act was shown to do holds only while its name is the same.

A page says what an act will do, and the person agrees to that. The act carries the name of what it was computed from;
the command compares it under the run's lock, so that nothing else is done than what was shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from durable.errors import Moved
from durable.models import Run
from durable.sql import answers

_STANDS = """
SELECT r.id, r.state, r.held, r.attempt, r.version, r.step, c.no, encode(c.head, 'hex'),
       (SELECT md5(string_agg(e.id || e.state, ' ' ORDER BY e.id)) FROM durable_effect e WHERE e.run_id = r.id)
FROM durable_run r LEFT JOIN durable_chain c ON c.run_ref = r.ref
WHERE r.id = ANY(%(runs)s)
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """A run's state, hold, attempt, version and step, the head of its ledger, and a digest of its effects' states."""

    state: str
    held: bool
    attempt: int
    version: int
    step: str
    no: int | None
    head: str | None
    effects: str | None

    @property
    def whole(self) -> str:
        """For an act that makes a run go on or turn back: everything that is said about it."""
        return _name(self.state, self.held, self.attempt, self.version, self.step, self.head, self.effects)

    @property
    def done(self) -> str:
        """For an act that ends a run: what it has done and has open. Steps that touch nothing may go by meanwhile."""
        return _name(self.state, self.held, self.attempt, self.head, self.effects)

    @property
    def undoes(self) -> str:
        """For a verdict that turns a run back: what it did, what it has open. To propose changes nothing of it."""
        return _name(self.state, self.effects)

    @property
    def stop(self) -> str:
        """For a hold: it lets nothing happen, so the steps of a busy run may not outrun it."""
        return _name(self.held)


def of(run: Run) -> Standing:
    """Read how a run stands, in one statement. Read it before what a page shows: then it is never newer than that."""
    return of_many([run.pk])[run.pk]


def of_many(ids: Iterable[int]) -> dict[int, Standing]:
    """Read how each of these runs stands, in one statement; see `of`."""
    return {pk: Standing(*row) for pk, *row in answers(_STANDS, {"runs": list(ids)})}


def check(run: Run, seen: str | None, part: str = "whole") -> None:
    """Raise Moved where a locked run no longer stands as its `part` was `seen`. None: nobody claims to have seen it."""
    if seen is not None and seen != getattr(of(run), part):
        raise Moved(f"{run.ref} has moved on since your page was made")


def _name(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
