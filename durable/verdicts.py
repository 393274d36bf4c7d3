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

from django.utils import timezone

from durable import clock, doubts, journal, ledger, proofs, runs, standing, vault, waits, wakeup
from durable.beats import committing
from durable.doubts import Check, Said
from durable.errors import Conflict, Invalid
from durable.ledger import outcome
from durable.ledger.record import give_back
from durable.models import Effect, LedgerEvent, Run
from durable.models.fields import Clock
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
from durable.transitions import close_wait, move_effect, move_run
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
    check: Check | None = None,
) -> bool:
    """Settle an effect in doubt as applied, with the vendor's receipt that a person found. False: it is a proposal now.

    `amount` is what the vendor says moved, for a receipt that is not among the candidates and says another sum than
    was asked for. `seen` is the `doubts.standing` that the person saw, `check` what `doubts.lock` asks. Raises
    Conflict, or Invalid for what proves nothing: no receipt, or an amount that is none.
    """
    said = _said("happened", actor, reason, receipt_id, amount)
    with committing("command"):
        run, effect = doubts.lock(effect_key, said, seen=seen, check=check)
        receipt = proofs.receipt(effect, said.receipt, said.amount)
        if not doubts.settles(run, effect, said, receipt, actor=actor, reason=reason):
            return False
        _apply(run, effect, receipt, actor)
        waits.wake(run)
    return True


def did_not(effect_key: str, *, actor: str, reason: str, seen: str = "", check: Check | None = None) -> bool:
    """Settle an effect in doubt as never happened. Raises Conflict before quiescence, saying from when it can
    be said. False: it is a proposal now.
    """
    runs.check_actor(actor, reason)
    said = Said("did not happen")
    with committing("command"):
        run, effect = doubts.lock(effect_key, said, seen=seen, check=check)
        facts = ledger.facts_of(effect)
        now, quiet = clock.db_now(), quiet_from(effect, facts)
        if now < quiet:
            local = timezone.localtime(quiet)  # it is read beside other moments, in the reader's zone
            raise Conflict(f"{effect_key}: the request may still land; say so from {local:%H:%M:%S %Z} on")
        left = late_receipt(effect)
        if left is not None:
            raise Conflict(
                f"{effect_key}: a worker has brought the vendor's receipt {left.id}; it did happen"
            )
        if not doubts.settles(run, effect, said, actor=actor, reason=reason):
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
    undoes: str | None = None,
    check: Check | None = None,
) -> bool:
    """Settle an effect in doubt as applied, then end its run and undo what it has done, all in one commit.
    False: it is a proposal now.

    `undoes` is the `standing` of the run, as far as an undo depends on it, that the person was shown the undo of;
    None: nobody claims to have seen it. Raises Conflict for an effect that is itself an undo, Moved where the run has
    done or begun something since.
    """
    said = replace(_said(doubts.UNDO, actor, reason, receipt_id, amount), undoes=undoes or "")
    with committing("command"):
        run, effect = doubts.lock(effect_key, said, seen=seen, check=check)
        standing.check(run, undoes, "undoes")
        if effect.undo_of_id is not None or run.state in FINAL:
            raise Conflict(f"{effect_key}: {run.ref} is {run.state}; an undo is not undone again")
        receipt = proofs.receipt(effect, said.receipt, said.amount)
        if not doubts.settles(run, effect, said, receipt, actor=actor, reason=reason):
            return False
        _apply(run, effect, receipt, actor)
        _turn_back(run, actor)
    return True


def ask_again(
    effect_key: str, *, actor: str, reason: str, seen: str = "", check: Check | None = None
) -> None:
    """Free the place of a failed effect, so that the step's next execution asks anew: a linked key, gated.

    Raises Conflict unless the run still stands at the step that asked for it.
    """
    runs.check_actor(actor, reason)
    with committing("command"):
        run, effect = doubts.lock(effect_key, Said("ask again"), seen=seen, check=check, settled=True)
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


def acknowledge(
    effect_key: str, *, actor: str, reason: str, seen: str = "", check: Check | None = None
) -> None:
    """Close what was put before a person about a settled effect: a conflict, a second receipt, an undo that failed, or
    that its run's compensation has left it as it was.

    It changes nothing about the effect; `reason` says what was found and done. A run that waited for it goes on.
    Raises Conflict where the effect is not settled, or nothing about it is open.
    """
    runs.check_actor(actor, reason)
    with committing("command"):
        run, effect = doubts.lock(effect_key, Said("acknowledge"), seen=seen, check=check, settled=True)
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
