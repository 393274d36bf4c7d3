"""What an answer to a gate reads and adds, by statements written by hand: every click waits for them, and the ORM takes
longer to write one than the server to answer it.
"""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User

from approvals.models import Decision, Gate
from approvals.states import Verdict
from durable import vault
from durable.answers import Locked
from durable.errors import NotFound
from durable.models import Effect, Run, Sealed, SealKey
from durable.models.rows import columns, made, parted
from durable.sql import answer

_GATE = ("id", "wait_id", "effect_id", "round", "digest", "decide_by")
_ACT = ("id", "run_id", "key", "tool", "effect_class", "digest", "amount_minor", "currency", "undo_of_id")
_FIND = f"""
SELECT {columns(Gate, "g", _GATE)}, {columns(Effect, "e", _ACT)}, {columns(Run, "r", ("id", "ref"))}
FROM approvals_gate g JOIN durable_effect e ON e.id = g.effect_id JOIN durable_run r ON r.id = e.run_id
WHERE g.id = %(gate)s
"""
LOCK = f"""
SELECT {columns(Gate, "g")}, {columns(Sealed, "p")}, {columns(SealKey, "k")}, {columns(User, "u")}
FROM approvals_gate g
JOIN auth_user u ON u.id = %(person)s
JOIN durable_sealed p ON p.id = g.payload_id
JOIN durable_effect e ON e.id = g.effect_id
JOIN durable_sealkey k ON k.run_id = e.run_id
WHERE g.id = %(gate)s
FOR UPDATE OF g
"""
_ADD = f"""
WITH kept AS (
    INSERT INTO durable_sealed (run_id, digest, box) VALUES (%(run)s, %(sealed)s, %(box)s) RETURNING id
)
INSERT INTO approvals_decision (gate_id, person_id, verdict, digest, round, sealed_id, authenticated, signed_in_at)
SELECT %(gate)s, %(person)s, %(verdict)s, %(digest)s, %(round)s, kept.id, %(authenticated)s, %(signed_in_at)s
FROM kept
ON CONFLICT DO NOTHING
RETURNING {columns(Decision, "approvals_decision")}
"""


def find(gate_id: int) -> Gate | None:
    """Return a gate, or None, with no more loaded than what an answer begins with; the rest comes when asked for."""
    row = answer(_FIND, {"gate": gate_id})
    if row is None:
        return None
    gate = made(Gate, row[: len(_GATE)], _GATE)
    gate.effect = made(Effect, row[len(_GATE) : -2], _ACT)
    gate.effect.run = made(Run, row[-2:], ("id", "ref"))
    return gate


def lock(gate_id: int, person_id: int, locked: Locked | None) -> tuple[Gate, User]:
    """Lock the gate, and read it and the person anew; the caller has the run's lock. Raises NotFound.

    What is read holds as of the statement's beginning, which may be before it had the lock: a clock is read afterwards.
    """
    row = answer(LOCK, {"gate": gate_id, "person": person_id})
    if row is None:
        raise NotFound("no such gate")
    its, payload, key, who, _ = parted(row, Gate, Sealed, SealKey, User)
    gate = made(Gate, its)
    gate.payload = made(Sealed, payload)
    if locked is not None:
        gate.effect, gate.wait = locked.effect, locked.wait
        locked.run.seal_key = made(SealKey, key)
    return gate, made(User, who)


def add(
    person: User,
    gate: Gate,
    verdict: Verdict,
    *,
    said: dict[str, str],
    authenticated: str,
    signed_in_at: datetime | None,
) -> Decision | None:
    """Add the decision's row; None where the person has answered this gate for good before.

    What was `said`, and from where, may have to be erased one day: it is sealed under the key of the gate's run. Raises
    vault.Erased where that was destroyed.
    """
    run = gate.effect.run
    sealed, box = vault.box(vault.key_of(run), said)
    values = {"run": run.pk, "sealed": sealed, "box": box, "gate": gate.pk, "person": person.pk}
    values |= {
        "verdict": verdict.value,
        "digest": gate.digest,
        "round": gate.round,
        "authenticated": authenticated,
        "signed_in_at": signed_in_at,
    }
    row = answer(_ADD, values)
    if row is None:
        return None
    decision = made(Decision, row)
    decision.gate, decision.person = gate, person
    return decision
