"""What people say about an effect in doubt. One verdict settles it, or above a limit two equal ones by two people
(see `doubts`); whoever comes too late is told.

"It happened" needs the vendor's receipt. "It did not" counts only after quiescence: the send-by, the time
that a request may still be in flight, and the look-up's lag must be over since the last request. Then a young
key is sent again, and for any other the step gets a new key, linked to the old one, gated whoever answered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from durable import clock, doubts, journal, ledger, runs, vault, waits, wakeup
from durable.beats import committing
from durable.doubts import Said
from durable.errors import Conflict, Invalid
from durable.ledger import outcome
from durable.ledger.record import give_back
from durable.models import Effect, LedgerEvent, Run
from durable.models.fields import Clock
from durable.money import from_minor, to_minor
from durable.reconcile import key_is_good, late_receipt, quiet_from
from durable.states import (
    FINAL,
    UNSETTLED,
    Attention,
    EffectState,
    EventKind,
    RunState,
    WaitKind,
    WaitState,
)
from durable.text import check_text
from durable.transitions import close_wait, lock_run, move_effect, move_run
from durable.vendor import Receipt

_RECEIPT_LIMIT = 255


@dataclass(frozen=True, slots=True)
class Outlook:
    """What "it did not happen" would mean now: from when it may be said, and whether the same key is sent again."""

    not_before: datetime
    may_be_said: bool
    same_key: bool


def outlook(effect: Effect, now: datetime | None = None) -> Outlook:
    """Say beforehand what `did_not` would do; that checks again, under its locks. Raises UnknownTool.

    `now` is the database's clock, where the caller has read it.
    """
    facts, now = ledger.facts_of(effect), now or clock.db_now()
    quiet = quiet_from(effect, facts)
    return Outlook(quiet, now >= quiet, key_is_good(effect, facts, now) and _goes_on(effect.run, effect))


def happened(
    effect_key: str,
    *,
    actor: str,
    reason: str,
    receipt_id: str,
    amount: Decimal | None = None,
    seen: str = "",
) -> bool:
    """Settle an effect in doubt as applied, with the vendor's receipt that a person found. False: it is a proposal now.

    `amount` is what the vendor says moved, for a receipt that is not among the candidates and says another sum than
    was asked for. `seen` is the `doubts.standing` that the person saw. Raises Conflict, or Invalid for what proves
    nothing: no receipt, or an amount that is none.
    """
    said = _said("happened", actor, reason, receipt_id, amount)
    with committing("command"):
        run, effect = doubts.lock(effect_key, seen)
        receipt = _receipt(effect, said)
        if not doubts.settles(run, effect, said, actor=actor, reason=reason):
            return False
        _apply(run, effect, receipt, actor)
        waits.wake(run)
    return True


def did_not(effect_key: str, *, actor: str, reason: str, seen: str = "") -> bool:
    """Settle an effect in doubt as never happened. Raises Conflict before quiescence, saying from when it can
    be said. False: it is a proposal now.
    """
    runs.check_actor(actor, reason)
    with committing("command"):
        run, effect = doubts.lock(effect_key, seen)
        facts = ledger.facts_of(effect)
        now, quiet = clock.db_now(), quiet_from(effect, facts)
        if now < quiet:
            raise Conflict(f"{effect_key}: the request may still land; say so from {quiet:%H:%M:%S} UTC on")
        left = late_receipt(effect)
        if left is not None:
            raise Conflict(
                f"{effect_key}: a worker has brought the vendor's receipt {left.id}; it did happen"
            )
        if not doubts.settles(run, effect, Said("did not happen"), actor=actor, reason=reason):
            return False
        if key_is_good(effect, facts, now) and _goes_on(run, effect):
            move_effect(effect, EffectState.PENDING, open_sends=0, forgotten_since=None)
        else:
            move_effect(effect, EffectState.WITHDRAWN, open_sends=0, settled_at=Clock(), next_look_at=None)
            give_back(run, effect)
        for wait in waits.of_effect(effect):
            close_wait(wait, WaitState.RESOLVED, by=actor)
        waits.wake(run)
    return True


def undo(
    effect_key: str,
    *,
    actor: str,
    reason: str,
    receipt_id: str,
    amount: Decimal | None = None,
    seen: str = "",
) -> bool:
    """Settle an effect in doubt as applied, then end its run and undo what it has done, all in one commit.
    False: it is a proposal now.

    Raises Conflict for an effect that is itself an undo.
    """
    said = _said("undo", actor, reason, receipt_id, amount)
    with committing("command"):
        run, effect = doubts.lock(effect_key, seen)
        if effect.undo_of_id is not None or run.state in FINAL:
            raise Conflict(f"{effect_key}: {run.ref} is {run.state}; an undo is not undone again")
        receipt = _receipt(effect, said)
        if not doubts.settles(run, effect, said, actor=actor, reason=reason):
            return False
        _apply(run, effect, receipt, actor)
        _turn_back(run, actor)
    return True


def ask_again(effect_key: str, *, actor: str, reason: str) -> None:
    """Free the place of a failed effect, so that the step's next execution asks anew: a linked key, gated.

    Raises Conflict unless the run still stands at the step that asked for it.
    """
    runs.check_actor(actor, reason)
    with committing("command"):
        found = doubts.find(effect_key)
        run = lock_run(found.run.ref)
        effect = outcome.locked(found)
        if effect.state != EffectState.FAILED:
            raise Conflict(f"{effect_key} is {effect.state}; only a failed effect can be asked for again")
        if (run.step, run.visit) != (effect.step, effect.visit):
            raise Conflict(
                f"{run.ref} has gone on from {effect.step}; nothing would ask for {effect_key} again"
            )
        if run.state not in (RunState.SUSPENDED, RunState.FAILED) or effect.undo_of_id is not None:
            raise Conflict(
                f"{run.ref} is {run.state}; only a forward effect of a run at rest is asked for again"
            )
        body = {"verdict": "ask again"}
        journal.record(run, EventKind.VERDICT, effect_key=effect.key, actor=actor, words=reason, body=body)
        move_effect(effect, EffectState.WITHDRAWN)


def acknowledge(effect_key: str, *, actor: str, reason: str) -> None:
    """Close what was put before a person about a settled effect: a conflict, a second receipt, an undo that failed, or
    that its run's compensation has left it as it was.

    It changes nothing about the effect; `reason` says what was found and done. A run that waited for it goes on.
    Raises Conflict where the effect is not settled, or nothing about it is open.
    """
    runs.check_actor(actor, reason)
    with committing("command"):
        found = doubts.find(effect_key)
        run = lock_run(found.run.ref)
        effect = outcome.locked(found)
        if effect.state in UNSETTLED:
            raise Conflict(f"{effect_key} is {effect.state}; say what became of it")
        asked = [w for w in waits.of_effect(effect) if w.kind == WaitKind.ATTENTION]
        if not asked and not _left_over(run, effect):
            raise Conflict(f"{effect_key}: nobody is asked to look at it (any more)")
        body = {"attention": sorted({Attention(wait.name).value for wait in asked})}
        journal.record(run, EventKind.SETTLED, effect_key=effect.key, actor=actor, words=reason, body=body)
        for wait in asked:
            close_wait(wait, WaitState.RESOLVED, by=actor)
        waits.wake(run)


def _left_over(run: Run, effect: Effect) -> bool:
    """Whether a compensation has ended without undoing the effect, and nobody has seen to that yet."""
    if run.state != RunState.PARTLY_COMPENSATED:
        return False
    kinds = [EventKind.NOT_UNDOABLE.value, EventKind.SETTLED.value]
    told = LedgerEvent.objects.filter(effect_key=effect.key, kind__in=kinds).order_by("-no").first()
    return told is not None and told.kind == EventKind.NOT_UNDOABLE


def _said(verdict: str, actor: str, reason: str, receipt_id: str, amount: Decimal | None) -> Said:
    """A verdict with its evidence, checked as far as it can be without the effect. Raises Invalid."""
    runs.check_actor(actor, reason)
    check_text(receipt_id, "receipt_id")
    if not 0 < len(receipt_id.strip()) <= _RECEIPT_LIMIT:
        raise Invalid("receipt_id", "give the vendor's own id of what happened; it is the proof")
    return Said(verdict, receipt_id.strip(), amount)


def _goes_on(run: Run, effect: Effect) -> bool:
    """Whether the run would still send the effect: a forward one on its way, an undo on the way back."""
    return run.state == (RunState.SUSPENDED if effect.undo_of_id is None else RunState.COMPENSATING)


def _turn_back(run: Run, actor: str) -> None:
    """Send a locked run towards its undoing from wherever it stands."""
    if run.state in (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED):
        move_run(run, RunState.COMPENSATING, due_at=Clock())
        wakeup.announce(run.ref)
    elif run.state == RunState.CANCELLING:
        Run.objects.filter(pk=run.pk).update(undo_after=True)
        waits.wake(run)
    elif run.state == RunState.COMPENSATING:
        waits.wake(run)
    else:
        runs.to_cancelling(run, undo=True, by=actor)


def _apply(run: Run, effect: Effect, receipt: Receipt, actor: str) -> None:
    try:
        key = vault.open_key(run.pk, run.ref)
        outcome.apply(run, effect, receipt, key, actor=actor, adopted=True)
    except outcome.ReceiptTaken as error:
        raise Conflict(f"receipt_id: {error}; it can't prove a second one") from error


def _receipt(effect: Effect, said: Said) -> Receipt:
    """The receipt of that id among the evidence that people saw; for one found elsewhere, what was asked, or the
    amount that was typed. Raises Invalid for an amount that is none: nobody may sign that it moved.
    """
    for wait in waits.of_effect(effect):
        for candidate in wait.detail.get("candidates", []):
            if candidate.get("id") == said.receipt:
                return replace(_seen(effect, candidate, said), facts=_by_hand(candidate.get("facts")))
    amount = None if effect.amount_minor is None else from_minor(effect.amount_minor, effect.currency)
    if said.amount is not None:
        amount = _amount(effect, said.amount, "amount")
    return Receipt(id=said.receipt, amount=amount, currency=effect.currency or None, facts=_by_hand({}))


def _by_hand(facts: Any) -> dict[str, Any]:
    return {**(facts if isinstance(facts, dict) else {}), "settled_by": "hand"}


def _seen(effect: Effect, candidate: dict[str, Any], said: Said) -> Receipt:
    """A candidate as the receipt that it is, if what it says moved can have moved."""
    try:
        found = outcome.receipt_from(candidate)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Invalid(
            "receipt_id",
            f"the vendor's record of {said.receipt} names no amount that can be read; leave it in doubt",
        ) from error
    if found.amount is not None:
        _amount(effect, found.amount, "receipt_id")
        if said.amount is not None and said.amount != found.amount:
            raise Invalid(
                "amount", f"the vendor's record of {said.receipt} says {found.amount}; leave this empty"
            )
    elif said.amount is not None:
        found = replace(found, amount=_amount(effect, said.amount, "amount"))
    return found


def _amount(effect: Effect, amount: Decimal, field: str) -> Decimal:
    """An amount that can have moved: of the effect's currency, and more than nothing."""
    if not effect.currency:
        if not amount.is_finite():
            raise Invalid(field, "must be a finite number, not NaN or infinity")
        return amount
    if to_minor(amount, effect.currency, field) <= 0:
        raise Invalid(field, f"must be more than nothing; {amount} {effect.currency} is no amount that moved")
    return amount
