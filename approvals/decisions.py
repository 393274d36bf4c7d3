"""A person's answer at a gate: one rule, whatever door it comes through.

Decision, ledger event, the effect's new state and the run's wake-up are one transaction. Locks are taken in the order
run, wait, effect, gate; what was checked before them is checked again under them. An answer that can't be recorded
leaves its refusal in the ledger, in a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F

from approvals import access, differences, gate_rows, outcomes, whole
from approvals.capabilities import Capability
from approvals.errors import Decided, Expired, Refused, Stale, Unread
from approvals.models import Decision, Gate
from approvals.states import LIVE, PAST, GateState, Verdict
from durable import answers, journal
from durable.answers import Locked
from durable.beats import committing
from durable.clock import db_now
from durable.errors import Conflict, Invalid
from durable.ledger import gating
from durable.models import Effect
from durable.models.fields import Clock
from durable.models.rows import update
from durable.states import EventKind
from durable.text import check_text

MAX_WORDS = 2000
#: Refusals that are kept in the run's ledger.
KEPT = (Refused, Stale, Unread, Decided, Expired)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Where an answer came from: network address, browser, how the person had proven who they are, and when, where that
    is known.
    """

    ip: str
    browser: str
    authenticated: str
    signed_in_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person answers, which digest and round their screen showed, and the proof that it showed all (`whole`)."""

    verdict: Verdict
    digest: str
    round: int
    words: str = ""
    args: Mapping[str, Any] | None = None
    whole: str = ""


def decide(person: User, gate_id: int, answer: Answer, circumstances: Circumstances) -> Decision:
    """Record a person's answer to a gate and let its run go on.

    Raises NotFound (no such gate for this person), Invalid (words or arguments; nothing written), Refused (this person
    may not), Stale (the screen is no longer current), Unread (it showed a part of a long payload), Decided (somebody
    was first, or the same click twice) or Expired (too late; a rejection is then kept as a late refusal).
    """
    gate = access.find_gate(person, gate_id)
    _check_words(answer)
    try:
        with committing("decision"):
            decision = _decide(person.pk, gate, answer, circumstances)
    except KEPT as refusal:
        _keep_refusal(person, gate, answer, refusal)
        raise
    if decision.verdict == Verdict.LATE_REFUSAL:
        by = outcomes.moment(gate.decide_by)
        raise Expired(
            f"Too late: it had to be decided by {by}. Nothing is executed; your refusal is kept with its reason."
        )
    return decision


def answer_back(person: User, gate_id: int, words: str) -> Gate:
    """Answer what a reviewer has asked back; returns the gate of the round that this opens.

    Raises NotFound, Invalid, Refused, Expired (decide-by is over: no answer starts the clock anew), or Conflict
    where nobody waits for an answer (any more).
    """
    gate = access.find_gate(person, gate_id)
    check_text(words, "words")
    with committing("decision"):
        locked = answers.lock(gate.effect.run.ref, gate.wait_id)
        gate, person = gate_rows.lock(gate.pk, person.pk, locked)
        if not access.may(person, Capability.ANSWER_BACK):
            raise Refused("Not recorded: you do not have the right to answer reviewers.")
        if gate.state != GateState.ASKED_BACK:
            raise Conflict("Nobody has asked anything back here.")
        if db_now() > gate.decide_by:
            raise outcomes.too_late(gate)
        effect = answers.answer_back(locked, actor=access.actor(person), words=words)
    return Gate.objects.get(effect=effect, round=effect.round)


def _check_words(answer: Answer) -> None:
    check_text(answer.words, "words")
    if len(answer.words) > MAX_WORDS:
        raise Invalid("words", f"must be at most {MAX_WORDS:,} characters")
    if answer.verdict in (Verdict.REJECT, Verdict.ASK_BACK) and not answer.words.strip():
        raise Invalid("words", "say why: the agent and the record get it")
    if answer.verdict is Verdict.EDIT and answer.args is None:
        raise Invalid("args", "an edit needs the arguments as they shall be")


def _decide(person_id: int, gate: Gate, answer: Answer, circumstances: Circumstances) -> Decision:
    """Lock, check everything again, record. Runs inside the caller's transaction; what it raises undoes all of it."""
    locked: Locked | None = None
    over = ""
    try:
        locked = answers.lock(gate.effect.run.ref, gate.wait_id)
    except Conflict as conflict:
        over = str(conflict)  # the run is locked all the same, so how it ended can't change under us
    gate, person = gate_rows.lock(gate.pk, person_id, locked)
    access.check_decision(person, gate, answer.verdict)
    if locked is None or GateState(gate.state) not in LIVE:
        if answer.verdict is Verdict.REJECT and gate.state == GateState.EXPIRED:
            return _refuse_late(person, gate, answer, circumstances)
        raise outcomes.lost(person, gate, answer.verdict, over)
    outcomes.check_current(gate, locked.effect, answer.digest, answer.round)
    if gate.state == GateState.ASKED_BACK and answer.verdict is not Verdict.REJECT:
        raise outcomes.waits_for_answer(gate)
    if db_now() > gate.decide_by:
        if answer.verdict is Verdict.REJECT:
            return _refuse_late(person, gate, answer, circumstances)
        raise outcomes.too_late(gate)
    unseen = (
        differences.unreadable(gate.payload, gate.digest, gate.effect.run)
        if answer.verdict is Verdict.APPROVE
        else None
    )
    if unseen:
        raise Refused(f"Not recorded: {unseen}.")
    whole.check(person, gate, answer.verdict, answer.whole)
    _check_override(locked.effect, answer)
    decision = _add(person, gate, answer.verdict, answer, circumstances)
    _EFFECTS[answer.verdict](locked, gate, decision, answer)
    return decision


def _check_override(effect: Effect, answer: Answer) -> None:
    """Raise Invalid for a yes without a reason to what may be there once, and may have happened already."""
    if answer.verdict is not Verdict.APPROVE or answer.words.strip() or not effect.once_per:
        return
    earlier = gating.acts_alike(effect.once_per, effect.pk).first()
    if earlier is not None:
        raise Invalid(
            "words", f"say why it is done once more: {earlier.key} did the same, and is {earlier.state}"
        )


def _add(
    person: User, gate: Gate, verdict: Verdict, answer: Answer, circumstances: Circumstances
) -> Decision:
    said = {"words": answer.words, "ip": circumstances.ip, "browser": circumstances.browser}
    added = gate_rows.add(
        person,
        gate,
        verdict,
        said=said,
        authenticated=circumstances.authenticated,
        signed_in_at=circumstances.signed_in_at,
    )
    if added is None:
        raise outcomes.lost(person, gate, verdict)
    return added


def _move(gate: Gate, to: GateState, **columns: Any) -> None:
    if not update(gate, gate.state, {"state": to.value, **columns}):
        raise Conflict(f"{gate} is no longer {gate.state}")


def _body(gate: Gate, decision: Decision) -> dict[str, Any]:
    return {"gate": gate.pk, "decision": decision.pk}


def _approve(locked: Locked, gate: Gate, decision: Decision, answer: Answer) -> None:
    _move(gate, GateState.APPROVED, closed_at=Clock(), act_by=Clock() + F("act_within"))
    answers.approve(
        locked, actor=access.actor(decision.person), words=answer.words, body=_body(gate, decision)
    )


def _reject(locked: Locked, gate: Gate, decision: Decision, answer: Answer) -> None:
    _move(gate, GateState.REJECTED, closed_at=Clock())
    answers.reject(
        locked, actor=access.actor(decision.person), words=answer.words, body=_body(gate, decision)
    )


def _edit(locked: Locked, gate: Gate, decision: Decision, answer: Answer) -> None:
    # The engine opens the next round itself, which supersedes this gate through the gatekeeper.
    answers.edit(
        locked,
        actor=access.actor(decision.person),
        args=answer.args or {},
        words=answer.words,
        body=_body(gate, decision),
    )


def _ask_back(locked: Locked, gate: Gate, decision: Decision, answer: Answer) -> None:
    _move(gate, GateState.ASKED_BACK)
    answers.ask_back(
        locked, actor=access.actor(decision.person), words=answer.words, body=_body(gate, decision)
    )


_EFFECTS: dict[Verdict, Callable[[Locked, Gate, Decision, Answer], None]] = {
    Verdict.APPROVE: _approve,
    Verdict.REJECT: _reject,
    Verdict.EDIT: _edit,
    Verdict.ASK_BACK: _ask_back,
}


def _refuse_late(person: User, gate: Gate, answer: Answer, circumstances: Circumstances) -> Decision:
    """Keep a no that came after the deadline: it decides nothing any more, but it was said."""
    decision = _add(person, gate, Verdict.LATE_REFUSAL, answer, circumstances)
    journal.record(
        gate.effect.run,
        EventKind.REFUSED_DECISION,
        actor=access.actor(person),
        effect_key=gate.effect.key,
        words=answer.words,
        body={
            **_body(gate, decision),
            "round": gate.round,
            "verdict": Verdict.LATE_REFUSAL.value,
            "why": "late",
        },
    )
    return decision


def _keep_refusal(person: User, gate: Gate, answer: Answer, refusal: Exception) -> None:
    """Write the refused attempt into the run's ledger, once for one person, gate, round and reason.

    The same click twice is no attempt at anything; repeating a refused one must not grow a chain that nobody prunes.
    """
    if isinstance(refusal, Decided) and refusal.again:
        return
    about = {"gate": gate.pk, "round": gate.round, "why": type(refusal).__name__.lower()}
    answers.keep_refused(
        gate.effect.run.ref,
        gate.effect.key,
        actor=access.actor(person),
        about=about,
        body={"verdict": answer.verdict.value}
        | ({"said": str(refusal)} if isinstance(refusal, Refused) else {}),
    )


def said(decision: Decision) -> str:
    """Return how a decision reads when told to others: "approved by Marta Oliveira at 12:00:03 UTC"."""
    verb = PAST[Verdict(decision.verdict)]
    return f"{verb} by {outcomes.name(decision.person)} at {outcomes.moment(decision.at)}"
