"""The third beat: write down what came of it. Whoever lost the lease may add a `late answer` and nothing else."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import F

from durable import journal, vault, waits
from durable.beats import committing, stating
from durable.digest import plain
from durable.ledger.applying import ReceiptTaken, apply_at_once, apply_locked
from durable.ledger.record import give_back
from durable.models import Effect, EventDetail, LedgerEvent, Run, Wait
from durable.models.fields import Clock
from durable.states import UNSETTLED, Attention, EffectState, EventKind, WaitKind, WaitState
from durable.text import cut, mend, quoted
from durable.transitions import Claim, close_wait, hold_claim, lock_effect, lock_run, move_effect
from durable.vendor import Receipt

__all__ = ["ReceiptTaken", "applied", "apply", "doubt", "failed", "late", "looked", "no_answer"]


def applied(claim: Claim, effect: Effect, receipt: Receipt, *, adopted: bool = False) -> Effect:
    """Record that the vendor acted, with its receipt, once. Raises LeaseLost, ReceiptTaken."""
    beat = "adopt" if adopted else "outcome"
    if effect.state == EffectState.PENDING and effect.sends == effect.open_sends == 1:
        # Nobody has asked about it, and no other request can have left a receipt: one statement says it all.
        with stating(beat):
            settled = apply_at_once(claim, effect, receipt, adopted=adopted)
        if settled is not None:
            settled.into(effect)
            return effect
    with committing(beat):
        run = hold_claim(claim)
        now = lock_effect(run, effect.pk)
        if _stands(effect, now):
            contradict(run, now, receipt)
            return now
        effect = apply(run, now, receipt, claim.seal_key, actor=claim.actor, adopted=adopted)
    return effect


def _stands(before: Effect, now: Effect) -> bool:
    """Whether what the last request came to is written already: the commit came through, the word of that did not.

    So, too, where a person or the sweeper has settled an effect in doubt during a look-up. `before` is the effect as it
    was when the vendor was asked.
    """
    return now.open_sends < before.open_sends


def apply(
    run: Run, effect: Effect, receipt: Receipt, seal_key: bytes, *, actor: str, adopted: bool, words: str = ""
) -> Effect:
    """Settle a locked effect of a locked run as applied: state, money, receipt, event, and the waits that
    asked about it.
    """
    late = _late_receipts(effect)
    apply_locked(run, effect, receipt, seal_key, actor=actor, adopted=adopted, words=words)
    for other in late - {receipt.id}:
        _alarm(run, effect, other)
    _close_questions(run, effect, by=actor)
    return effect


def failed(claim: Claim, effect: Effect, code: str, message: str) -> Effect:
    """Record a definitive no, once. While an earlier request is unanswered it decides nothing: then the effect
    stays pending.
    """
    code, message = _vendors_words(code, 100), _vendors_words(message)
    with committing("outcome"):
        run = hold_claim(claim)
        before, effect = effect, lock_effect(run, effect.pk)
        if _stands(before, effect):
            return effect
        if effect.open_sends > 1:
            # Repeating can't succeed any more; whether the earlier request did is for a look-up or a person to say.
            Effect.objects.filter(pk=effect.pk).update(error_saved=True)
            _answered(run, effect, EventKind.NO_ANSWER, claim.actor, {"refused": code}, message)
        else:
            move_effect(
                effect,
                EffectState.FAILED,
                open_sends=0,
                failure=cut(f"{code}: {message}", 500),
                settled_at=Clock(),
                next_look_at=None,
            )
            give_back(run, effect)
            journal.record(
                run,
                EventKind.FAILED,
                effect_key=effect.key,
                actor=claim.actor,
                body={"code": code},
                words=message,
            )
    effect.refresh_from_db()
    return effect


def not_sent(claim: Claim, effect: Effect, message: str) -> Effect:
    """Record that the last request certainly had no effect; the same may be released again."""
    with committing("outcome"):
        run = hold_claim(claim)
        effect = lock_effect(run, effect.pk)
        _answered(run, effect, EventKind.NOT_SENT, claim.actor, {}, _vendors_words(message))
    return effect


def no_answer(claim: Claim, effect: Effect, message: str, *, saved: bool) -> Effect:
    """Record that nobody can tell whether the last request landed. The effect stays pending; reconciling decides."""
    with committing("outcome"):
        run = hold_claim(claim)
        effect = lock_effect(run, effect.pk)
        if saved:
            Effect.objects.filter(pk=effect.pk).update(error_saved=True)
        journal.record(
            run,
            EventKind.NO_ANSWER,
            effect_key=effect.key,
            actor=claim.actor,
            body={"saved": saved},
            words=_vendors_words(message),
        )
    effect.refresh_from_db()
    return effect


def doubt(
    claim: Claim, effect: Effect, reason: Attention, sentence: str, evidence: dict[str, Any]
) -> Wait | None:
    """Put an unsettled effect before a person, with what is known. Returns the open wait, None where it is settled now:
    people answer, and the sweeper adopts, while a worker still asks the vendor.
    """
    with committing("doubt"):
        run = hold_claim(claim)
        effect = lock_effect(run, effect.pk)
        if effect.state not in UNSETTLED:
            return None
        return put_in_doubt(run, effect, reason, sentence, evidence)


def put_in_doubt(
    run: Run, effect: Effect, reason: Attention, sentence: str, evidence: dict[str, Any]
) -> Wait:
    """Open the attention wait of a locked effect; a pending one is then in doubt."""
    if effect.state == EffectState.PENDING:
        move_effect(effect, EffectState.IN_DOUBT)
        journal.record(run, EventKind.IN_DOUBT, effect_key=effect.key, body={"reason": reason.value})
    return waits.open_attention(run, reason, sentence, effect=effect, evidence=evidence)


def looked(claim: Claim, effect: Effect, found: str) -> None:
    """Count a look-up that settled nothing."""
    with committing("looked"):
        run = hold_claim(claim)
        Effect.objects.filter(pk=effect.pk).update(looks=F("looks") + 1)
        journal.record(
            run, EventKind.LOOKED_UP, effect_key=effect.key, actor=claim.actor, body={"found": found}
        )
    effect.looks += 1


def late(run_ref: str, effect_key: str, actor: str, receipt: Receipt | None, message: str) -> None:
    """Add what a worker learned after it had lost its lease. Changes no state; a second receipt raises an alarm."""
    with committing("late"):
        run = lock_run(run_ref)
        effect = lock_effect(run, Effect.objects.values_list("pk", flat=True).get(key=effect_key))
        body: dict[str, Any] = {} if receipt is None else {"receipt": receipt.id}
        key = _key(run)
        words = message if receipt is None and key is not None else ""
        numbers = journal.record(
            run, EventKind.LATE_ANSWER, effect_key=effect_key, actor=actor, body=body, words=words
        )
        if receipt is not None:
            if key is not None:
                sealed = vault.seal(run.pk, key, plain(asdict(receipt)))
                event = LedgerEvent.objects.get(run_ref=run_ref, no=numbers)
                EventDetail.objects.create(event=event, sealed=sealed)
            contradict(run, effect, receipt)
            if effect.state in UNSETTLED:
                Effect.objects.filter(pk=effect.pk).update(next_look_at=Clock())
                waits.wake(run)


def _key(run: Run) -> bytes | None:
    """The run's key; None once its data is erased: then nothing of a person's is taken down any more."""
    try:
        return vault.open_key(run.pk, run.ref)
    except vault.Erased:
        return None


def contradict(run: Run, effect: Effect, receipt: Receipt) -> None:
    """Raise an alarm where a receipt of a locked effect says otherwise than what it was settled with."""
    if effect.state not in UNSETTLED and effect.receipt_id != receipt.id:
        _alarm(run, effect, receipt.id)


def _alarm(run: Run, effect: Effect, receipt_id: str) -> None:
    """A receipt that contradicts what the effect was settled with: money may have moved twice, or after a no."""
    known = f"its receipt is {quoted(effect.receipt_id)}" if effect.receipt_id else f"it is {effect.state}"
    late = f"The vendor has answered {effect.key} late with {quoted(receipt_id)}"
    sentence = f"{late}, but {known}: look what really moved."
    waits.open_attention(run, Attention.CONFLICT, sentence, effect=effect, evidence={"alarm": True})


def _late_receipts(effect: Effect) -> set[str]:
    """The receipts that workers without a lease have left for an effect. One request leaves none."""
    if effect.sends < 2:
        return set()
    late = LedgerEvent.objects.filter(effect_key=effect.key, kind=EventKind.LATE_ANSWER.value)
    return {
        str(body["receipt"])
        for body in map(json.loads, late.values_list("body", flat=True))
        if "receipt" in body
    }


def _vendors_words(text: str, limit: int = 2_000) -> str:
    """What a vendor said, fit to be kept: nobody may keep an outcome out of the ledger by bad characters."""
    return cut(mend(text), limit)


def _answered(
    run: Run, effect: Effect, kind: EventKind, actor: str, body: dict[str, Any], words: str
) -> None:
    """One open request is answered with certainty: it moved nothing."""
    Effect.objects.filter(pk=effect.pk).update(open_sends=F("open_sends") - 1)
    journal.record(run, kind, effect_key=effect.key, actor=actor, body=body, words=words)
    effect.refresh_from_db()


def _close_questions(run: Run, effect: Effect, *, by: str) -> None:
    """What was asked about an effect is answered once it is settled. An alarm is no question: it stays."""
    asked = Wait.objects.filter(effect=effect, kind=WaitKind.ATTENTION.value, state=WaitState.OPEN.value)
    for wait in asked:
        if not waits.is_alarm(wait):
            close_wait(wait, WaitState.RESOLVED, by=by)


def receipt_from(stored: dict[str, Any]) -> Receipt:
    """Return a stored receipt as the value that it was."""
    amount, at = stored.get("amount"), stored.get("at")
    return Receipt(
        **{
            **stored,
            "amount": None if amount is None else Decimal(amount),
            "at": None if at is None else datetime.fromisoformat(at),
        }
    )
