"""Four eyes: who had a hand in what a gate asks about, and so can't be the one who says yes to it.

A hand had whoever asked for the run or for a run that it was forked from, edited the payload or a working state, forked
the run, or told its reviewers what they asked back. It is looked up at the decision and once more at the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from approvals import memory
from approvals.models import Gate
from approvals.states import LIVE, Verdict
from durable.sql import answers, listed
from durable.states import EventKind

#: What a person can have done to a run, as the ledger names it. A worker opens rounds too, but no worker decides.
_DID = {
    EventKind.STATE_EDITED: "edited the state of this run",
    EventKind.FORKED: "forked this run",
    EventKind.NEW_ROUND: "answered a reviewer of this run",
}
#: The run and its ancestors.
_LINE = """
WITH RECURSIVE line AS (
    SELECT id, ref, requester, parent_id FROM durable_run WHERE id = {run}
    UNION
    SELECT r.id, r.ref, r.requester, r.parent_id FROM durable_run r JOIN line ON r.id = line.parent_id
)
"""
# Of these: who asked for them, and who did what. Of the effect: who edited it in an earlier round.
_FOUND = f"""
{_LINE.format(run="%(run)s")}
SELECT 'asked', requester FROM line WHERE id <> %(run)s
UNION ALL
SELECT e.kind, e.actor FROM line JOIN durable_ledgerevent e ON e.run_ref = line.ref AND e.kind IN ({listed(_DID)})
UNION ALL
SELECT 'edited', d.person_id::text FROM approvals_gate g JOIN approvals_decision d ON d.gate_id = g.id
WHERE g.effect_id = %(effect)s AND d.round < %(round)s AND d.verdict = '{Verdict.EDIT.value}'
"""
#: The same of many gates: those that wait, and in which each of some people had a hand. `able` are their ids, as SQL.
_NOBODY_LEFT = f"""
SELECT g.id FROM approvals_gate g JOIN durable_effect e ON e.id = g.effect_id
WHERE g.state IN ({listed(LIVE)}) AND NOT EXISTS (
    SELECT FROM auth_user u WHERE u.id IN ({{able}}) AND NOT EXISTS (
        SELECT FROM approvals_gate earlier JOIN approvals_decision d ON d.gate_id = earlier.id
        WHERE earlier.effect_id = g.effect_id AND d.person_id = u.id AND d.round < g.round
          AND d.verdict = '{Verdict.EDIT.value}'
    ) AND NOT EXISTS (
        {_LINE.format(run="e.run_id")}
        SELECT FROM line
        WHERE (line.requester <> '' AND lower(line.requester) IN (lower(u.username), lower(u.email)))
           OR EXISTS (SELECT FROM durable_ledgerevent did WHERE did.run_ref = line.ref AND did.actor = u.username
                      AND did.kind IN ({listed(_DID)}))
    )
)
"""


def nobody_left(able: QuerySet[User]) -> RawSQL:
    """The ids of the gates that wait, and in which all of these people had a hand; for `pk__in`. Among many, what
    `in_gate` says of one.
    """
    ids, values = able.order_by().values("pk").query.sql_with_params()
    return RawSQL(_NOBODY_LEFT.format(able=ids), values)


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
