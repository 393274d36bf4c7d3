"""Four eyes: who had a hand in what a gate asks about, and so can't be the one who says yes to it.

A hand had whoever asked for the run or for a run that it was forked from, edited the payload or a working state, forked
the run, or told its reviewers what they asked back. It is looked up at the decision and once more at the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import TextField, Value
from django.db.models.functions import Cast

from approvals import memory
from approvals.models import Decision, Gate
from approvals.states import Verdict
from durable.models import LedgerEvent, Run
from durable.states import EventKind

#: What a person can have done to a run, as the ledger names it. A worker opens rounds too, but no worker decides.
_DID = {
    EventKind.STATE_EDITED.value: "edited the state of this run",
    EventKind.FORKED.value: "forked this run",
    EventKind.NEW_ROUND.value: "answered a reviewer of this run",
}
_EDITED = EventKind.EDITED.value
_LINE = """
WITH RECURSIVE line AS (
    SELECT id, ref, requester, parent_id FROM durable_run WHERE id = %s
    UNION
    SELECT r.id, r.ref, r.requester, r.parent_id FROM durable_run r JOIN line ON r.id = line.parent_id
)
SELECT ref, requester FROM line
"""


@dataclass(frozen=True, slots=True)
class Hands:
    """Who had a hand in one gate: names and addresses in lower case, ids of editors, and what each actor did."""

    requester: str
    ancestors: frozenset[str]
    editors: frozenset[int]
    did: Mapping[str, str]

    def asked(self, person: User) -> str | None:
        """Whether the person asked for the run or its ancestors, in words that follow a name; None where not."""
        names = {person.get_username().casefold(), person.email.casefold()} - {""}
        if self.requester in names:
            return "asked for this run"
        return "asked for the run behind this fork" if names & self.ancestors else None

    def had(self, person: User, actor: str) -> str | None:
        """Return what the person did, in words that follow a name, or None: then their yes is another pair of eyes."""
        if asked := self.asked(person):
            return asked
        if person.pk in self.editors:
            return "edited what would be sent"
        return self.did.get(actor)


def in_gate(gate: Gate) -> Hands:
    """Return who had a hand in it. Asked once for one gate object: a decision loads it anew under its locks."""
    return memory.once(gate, "hands", lambda: _look(gate))


def _look(gate: Gate) -> Hands:
    run = gate.effect.run
    line = _line(run)
    events = LedgerEvent.objects.filter(run_ref__in=list(line), kind__in=list(_DID))
    edits = Decision.objects.filter(
        gate__effect_id=gate.effect_id, round__lt=gate.round, verdict=Verdict.EDIT.value
    ).annotate(editor=Cast("person_id", TextField()), did=Value(_EDITED))
    found = list(events.values_list("actor", "kind").union(edits.values_list("editor", "did")))
    return Hands(
        run.requester.casefold(),
        frozenset(requester.casefold() for ref, requester in line.items() if ref != run.ref),
        frozenset(int(who) for who, did in found if did == _EDITED),
        {who: _DID[did] for who, did in found if did in _DID},
    )


def _line(run: Run) -> dict[str, str]:
    """The run and its ancestors, each with who asked for it."""
    if run.parent_id is None:
        return {run.ref: run.requester}
    with connection.cursor() as cursor:
        cursor.execute(_LINE, [run.pk])
        return dict(cursor.fetchall())
