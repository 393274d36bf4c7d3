"""Holds what the console keeps of people's answers against the ledger, for `manage.py verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from approvals.states import Verdict
from durable.roots.effects import facts_of
from durable.roots.reading import Finding, Wire, stream
from durable.states import EventKind

#: What the ledger says of each verdict.
KINDS = {
    Verdict.APPROVE.value: EventKind.APPROVED.value,
    Verdict.REJECT.value: EventKind.REJECTED.value,
    Verdict.EDIT.value: EventKind.EDITED.value,
    Verdict.ASK_BACK.value: EventKind.ASKED_BACK.value,
    Verdict.LATE_REFUSAL.value: EventKind.REFUSED_DECISION.value,
}

#: An event names its decision by number; a body that is not JSON any more must not stop the query.
_DECISIONS = """
SELECT v.run_ref, v.no, v.kind, v.actor, v.effect_key, v.body, d.id, d.verdict, d.digest, d.round, d.gate_id,
       d.username, d.key, d.ref, d.cut
FROM (
    SELECT *, substring(body from '"decision":([0-9]{1,18})[,}]')::bigint AS decision FROM durable_ledgerevent
    WHERE kind = ANY(%s) AND body LIKE '%%"decision":%%'
) v
FULL JOIN (
    SELECT d.*, u.username, e.key, r.ref, EXISTS (SELECT FROM durable_cut c WHERE c.run_ref = r.ref) AS cut
    FROM approvals_decision d JOIN auth_user u ON u.id = d.person_id JOIN approvals_gate g ON g.id = d.gate_id
    JOIN durable_effect e ON e.id = g.effect_id JOIN durable_run r ON r.id = e.run_id
) d ON d.id = v.decision
"""


def decisions(wire: Wire) -> Iterator[Finding]:
    """Yield decisions that are not what their events say, and either without the other."""
    for row in stream(wire, _DECISIONS, [sorted({*KINDS.values()})]):
        run, no, *_ = row
        number, ref, cut = row[6], row[13], row[14]
        if run is None and cut:
            continue  # what spoke of it has gone with its period; it goes with its effect
        if run is None:
            yield Finding(f"decision {number} is there, and no event speaks of it", ref)
        elif number is None:
            yield Finding("the decision that it speaks of is not there", run, no)
        elif wrong := _wrong(row):
            yield Finding(f"decision {number} has another {wrong} than this event", run, no)


def _wrong(row: tuple[Any, ...]) -> str:
    """What a decision's row says otherwise than its event; nothing where they agree."""
    _, _, kind, actor, key, body, _, verdict, digest, asking, gate, person, of, *_ = row
    facts = facts_of(body)
    # An edit's event has what it made of the payload, and what was decided about beside it.
    about = facts.get("digest_before" if kind == EventKind.EDITED else "digest", digest)
    pairs = {
        "verdict": (KINDS.get(verdict), kind),
        "person": (person, actor),
        "effect": (of, key),
        "gate": (gate, facts.get("gate")),
        "digest": (digest, about),
        "round": (asking, asking if kind == EventKind.EDITED else facts.get("round")),
    }
    return next((name for name, (here, there) in pairs.items() if here != there), "")
