"""Four eyes: who had a hand in what a gate asks about, and so can't be the one who says yes to it.

A hand had whoever asked for the run or for a run that it was forked from, edited the payload or a working state, forked
the run, or told its reviewers what they asked back. It is looked up at the decision and once more at the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User

from approvals import memory
from approvals.models import Gate
from approvals.states import Verdict
from durable.sql import answers, listed
from durable.states import EventKind

#: What a person can have done to a run, as the ledger names it. A worker opens rounds too, but no worker decides.
_DID = {
    EventKind.STATE_EDITED: "edited the state of this run",
    EventKind.FORKED: "forked this run",
    EventKind.NEW_ROUND: "answered a reviewer of this run",
}
# Of the run and its ancestors: who asked for them, and who did what. Of the effect: who edited it in an earlier round.
_FOUND = f"""
WITH RECURSIVE line AS (
    SELECT id, ref, requester, parent_id FROM durable_run WHERE id = %(run)s
    UNION
    SELECT r.id, r.ref, r.requester, r.parent_id FROM durable_run r JOIN line ON r.id = line.parent_id
)
SELECT 'asked', requester FROM line WHERE id <> %(run)s
UNION ALL
SELECT e.kind, e.actor FROM line JOIN durable_ledgerevent e ON e.run_ref = line.ref AND e.kind IN ({listed(_DID)})
UNION ALL
SELECT 'edited', d.person_id::text FROM approvals_gate g JOIN approvals_decision d ON d.gate_id = g.id
WHERE g.effect_id = %(effect)s AND d.round < %(round)s AND d.verdict = '{Verdict.EDIT.value}'
"""


@dataclass(frozen=True, slots=True)
class Hands:
    """Who had a hand in one gate: names and addresses in lower case, ids of editors, and what each actor did.

    A shell takes any name for its actor, so that names are compared without regard to case, and addresses count too.
    """

    requester: str
    ancestors: frozenset[str]
    editors: frozenset[int]
    did: Mapping[str, str]

    def asked(self, person: User) -> str | None:
        """Whether the person asked for the run or its ancestors, in words that follow a name; None where not."""
        names = _names(person)
        if self.requester in names:
            return "asked for this run"
        return "asked for the run behind this fork" if names & self.ancestors else None

    def had(self, person: User) -> str | None:
        """Return what the person did, in words that follow a name, or None: then their yes is another pair of eyes."""
        if asked := self.asked(person):
            return asked
        if person.pk in self.editors:
            return "edited what would be sent"
        return next((self.did[name] for name in sorted(_names(person)) if name in self.did), None)


def _names(person: User) -> set[str]:
    """What a person may be called where somebody acts: the name with which they sign in, and their address."""
    return {person.get_username().casefold(), person.email.casefold()} - {""}


def in_gate(gate: Gate) -> Hands:
    """Return who had a hand in it. Asked once for one gate object: a decision loads it anew under its locks."""
    return memory.once(gate, "hands", lambda: _look(gate))


def _look(gate: Gate) -> Hands:
    run = gate.effect.run
    found = answers(_FOUND, {"run": run.pk, "effect": gate.effect_id, "round": gate.round})
    return Hands(
        run.requester.casefold(),
        frozenset(who.casefold() for what, who in found if what == "asked"),
        frozenset(int(who) for what, who in found if what == "edited"),
        {who.casefold(): _DID[EventKind(what)] for what, who in found if what not in ("asked", "edited")},
    )
