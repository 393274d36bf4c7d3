"""The effect protocol: what the ledger says about a key decides what the engine does. One loop, one row a state.

A step asks for an effect; the same ask comes again whenever the step is executed again. First the ask is
compared with what the key has recorded: another one that was never sent opens a new round, another one that
was sent is a conflict, for people. The same one goes on from where its ledger stands. The loop ends with a
receipt, a typed refusal, or a suspension.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction

from durable import faults, ledger, rounds, vault, waits
from durable.errors import (
    EffectFailed,
    EffectRefused,
    InDoubt,
    LeaseLost,
    NotSent,
    Suspension,
    VendorRefused,
)
from durable.ledger import Ask, gating, outcome
from durable.models import Effect, Run
from durable.reconcile import Doubt, LookAgain, SendAgain, call_of, mismatch, pause, settle, shown
from durable.states import REFUSED, Attention, EffectState, WaitKind
from durable.transitions import Claim, hold_claim
from durable.vendor import Receipt
from durable.waits import WaitSpec

#: A pause up to this long is slept through, a longer one suspends the run.
SHORT = timedelta(seconds=1)


def perform(claim: Claim, ask: Ask) -> Receipt:
    """Bring an asked effect to its receipt, doing once what has to be done.

    Raises EffectRefused or EffectFailed (for the step to handle), Suspension where people or time must come first,
    BudgetExhausted, Stopping, LeaseLost.
    """
    run = Run.objects.select_related("parent").get(pk=claim.run_id)
    gift = _inherited(run, ask)
    if gift is not None:
        return gift
    effect = ledger.at(run, ask.place, ask.undo_of)
    if effect is None or _never_happened(effect):
        effect = begin(claim, run, ask, older=effect)
    while effect.state != EffectState.APPLIED:
        effect = _advance(claim, run, effect, ask)
    return receipt_of(claim, effect)


def begin(claim: Claim, run: Run, ask: Ask, *, older: Effect | None = None) -> Effect:
    """Record the intent and, where nobody has to be asked, act. Returns the effect wherever it then stands."""
    facts = facts_at_drafting(run, ask, older)
    recorded = ledger.record(claim, ask, facts=facts, older=older)
    if recorded.sending is not None:
        return _send(claim, recorded.effect, ask, recorded.sending)
    return recorded.effect


def facts_at_drafting(run: Run, ask: Ask, older: Effect | None) -> Mapping[str, Any] | None:
    """Read the tool's facts if people are going to be asked: they are shown, and must still hold at release."""
    if ask.recheck is None:
        return None
    link = older.link + 1 if older else 1
    if gating.requirement(run, ask, link=link) is None:
        return None
    return rounds.read_facts(ask, ledger.key_of(run.ref, ask.place, link), run.ref)


def _never_happened(effect: Effect) -> bool:
    """A person said so after quiescence (`verdicts`): the place is free for a new key, linked to this one."""
    return effect.state == EffectState.WITHDRAWN and effect.sends > 0


def _advance(claim: Claim, run: Run, effect: Effect, ask: Ask) -> Effect:
    """Do what the ledger's state of the effect asks for; returns the effect as it stands after that."""
    if effect.digest_asked != ask.proposal.digest or effect.tool != ask.tool.name:
        return _another_ask(claim, effect, ask)
    state = EffectState(effect.state)
    if state in REFUSED:
        raise EffectRefused(effect.key, state.value, "" if effect.words is None else vault.read(effect.words))
    match state:
        case EffectState.FAILED:
            code, _, message = effect.failure.partition(": ")
            raise EffectFailed(effect.key, code, message)
        case EffectState.GATED | EffectState.IN_DOUBT:
            raise Suspension(*waits.of_effect(effect))
        case EffectState.APPROVED:
            return _let_out(claim, effect, rounds.as_decided(effect, ask), ask)
        case _:
            return _pending(claim, effect, rounds.as_decided(effect, ask))


def _another_ask(claim: Claim, effect: Effect, ask: Ask) -> Effect:
    """The step asks for something else under a key that has a record."""
    if effect.sends == 0:
        return rounds.replace(claim, effect, ask)
    with transaction.atomic(durable=True):
        run = hold_claim(claim)
        sentence = (
            f"{effect.key} was sent with one payload, and the step now asks for another. "
            "Key and payload are bound since the first request."
        )
        wait = outcome.put_in_doubt(
            run,
            outcome.locked(effect),
            Attention.CONFLICT,
            sentence,
            {"digest_sent": effect.digest, "digest_asked": ask.proposal.digest},
        )
    raise Suspension(wait)


def _let_out(claim: Claim, effect: Effect, decided: Ask, ask: Ask) -> Effect:
    """Release what people approved, if it may still go; else ask them again, showing what changed."""
    changed = rounds.changed_facts(effect, decided, claim.run_ref)
    if changed is not None:
        return rounds.reopen(claim, effect, decided, changed.sentence, facts=changed.now)
    released = ledger.release(claim, effect, decided)
    if released.sending is None:
        return rounds.reopen(claim, effect, decided, released.refused)
    return _send(claim, released.effect, decided, released.sending)


def _pending(claim: Claim, effect: Effect, decided: Ask) -> Effect:
    """Meant or sent, and not settled. Never a blind repeat: an open request is looked up first."""
    if effect.open_sends:
        verdict = settle(claim, effect, decided)
        effect.refresh_from_db()
        match verdict:
            case Doubt():
                raise Suspension(*waits.of_effect(effect))
            case LookAgain(pause=later):
                _wait_for(effect, later, "look again")
                return effect
            case SendAgain(pause=later):
                _wait_for(effect, later, "send again")
            case _:
                return effect
    released = ledger.release(claim, effect, decided)
    assert released.sending is not None
    return _send(claim, released.effect, decided, released.sending)


def _send(claim: Claim, effect: Effect, ask: Ask, sending: ledger.Sending) -> Effect:
    """Make the one request that a `sent` event allows, and record its answer. No transaction is open meanwhile."""
    left = sending.seconds_left()
    if left <= 0:
        return outcome.not_sent(claim, effect, "the time to send had passed before the request began")
    try:
        faults.point("vendor.before_call")
        receipt = ask.send(call_of(effect, ask, claim.run_ref, left))
        faults.point("vendor.after_call")
        if not isinstance(receipt, Receipt):
            raise InDoubt(f"the adapter returned {type(receipt).__name__}, no receipt")
    except NotSent as error:
        effect = outcome.not_sent(claim, effect, str(error))
        _wait_for(
            effect, error.retry_after or max(pause(effect.sends), timedelta(milliseconds=100)), "vendor away"
        )
        return effect
    except VendorRefused as error:
        refusal = error
        return _guarded(
            claim, effect, None, lambda: outcome.failed(claim, effect, refusal.code, refusal.message)
        )
    except Exception as error:
        saved = isinstance(error, InDoubt) and error.saved
        words = f"{type(error).__name__}: {error}"
        return _guarded(claim, effect, None, lambda: outcome.no_answer(claim, effect, words, saved=saved))
    return _guarded(claim, effect, receipt, lambda: _accept(claim, effect, ask, receipt))


def _accept(claim: Claim, effect: Effect, ask: Ask, receipt: Receipt) -> Effect:
    """Take the vendor's direct answer, which must name what was asked for; else a person must look."""
    wrong = mismatch(ask, receipt)
    if not wrong:
        try:
            return outcome.applied(claim, effect, receipt)
        except outcome.ReceiptTaken as error:
            wrong = str(error)
    outcome.doubt(
        claim,
        effect,
        Attention.IN_DOUBT,
        f"The vendor answered with {receipt.id}, but {wrong}.",
        {"candidates": [shown(receipt)]},
    )
    effect.refresh_from_db()
    return effect


def _guarded(claim: Claim, effect: Effect, receipt: Receipt | None, write: Callable[[], Effect]) -> Effect:
    """Write an answer down; without the lease it becomes a `late answer`, which changes no state."""
    try:
        return write()
    except LeaseLost:
        outcome.late(claim.run_ref, effect.key, claim.actor, receipt, "the request got no usable answer")
        raise


def _wait_for(effect: Effect, later: timedelta, why: str) -> None:
    """Let `later` pass: a short pause in place, a longer one as a timer that costs nothing."""
    if later <= SHORT:
        time.sleep(max(later.total_seconds(), 0.0))
        return
    raise Suspension(
        WaitSpec(WaitKind.TIMER, f"{why}: {effect.key}", effect.step, effect.visit, effect.ordinal, later)
    )


def _inherited(run: Run, ask: Ask) -> Receipt | None:
    """A fork sees its parent's whole ledger: an equal call at the same place has its receipt already."""
    if run.parent_id is None or ask.undo_of is not None:
        return None
    found = ledger.inherited(run, ask.place)
    if found is None or found.state != EffectState.APPLIED or found.digest_asked != ask.proposal.digest:
        return None
    return outcome.receipt_from(vault.read(found.proof)) if found.proof is not None else None


def receipt_of(claim: Claim, effect: Effect) -> Receipt:
    """Return the receipt of an applied effect."""
    assert effect.proof is not None
    return outcome.receipt_from(vault.unseal(claim.seal_key, effect.proof))
