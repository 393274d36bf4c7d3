"""What people say about an effect in doubt. One verdict settles it; whoever comes second is told.

"It happened" needs the vendor's receipt. "It did not" counts only after quiescence: the send-by, the time
that a request may still be in flight, and the look-up's lag must be over since the last request. Then a young
key is sent again, and for any other the step gets a new key, linked to the old one, gated whoever answered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from durable import clock, journal, ledger, runs, vault, waits, wakeup
from durable.beats import committing
from durable.errors import Conflict, Invalid, NotFound
from durable.ledger import outcome
from durable.ledger.record import give_back
from durable.models import Effect, LedgerEvent, Run
from durable.models.fields import Clock
from durable.money import from_minor
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


def outlook(effect: Effect) -> Outlook:
    """Say beforehand what `did_not` would do; that checks again, under its locks. Raises UnknownTool."""
    facts, now = ledger.facts_of(effect), clock.db_now()
    quiet = quiet_from(effect, facts)
    return Outlook(quiet, now >= quiet, key_is_good(effect, facts, now) and _goes_on(effect.run, effect))


def happened(effect_key: str, *, actor: str, reason: str, receipt_id: str) -> None:
    """Settle an effect in doubt as applied, with the vendor's receipt that a person found."""
    receipt_id = _check_receipt(actor, reason, receipt_id)
    with committing("command"):
        run, effect = _lock(effect_key)
        _say(run, effect, "happened", actor, reason)
        _apply(run, effect, receipt_id, actor)
        waits.wake(run)


def did_not(effect_key: str, *, actor: str, reason: str) -> None:
    """Settle an effect in doubt as never happened. Raises Conflict before quiescence, saying from when it can
    be said.
    """
    runs.check_actor(actor, reason)
    with committing("command"):
        run, effect = _lock(effect_key)
        facts = ledger.facts_of(effect)
        now, quiet = clock.db_now(), quiet_from(effect, facts)
        if now < quiet:
            raise Conflict(f"{effect_key}: the request may still land; say so from {quiet:%H:%M:%S} UTC on")
        left = late_receipt(effect)
        if left is not None:
            raise Conflict(
                f"{effect_key}: a worker has brought the vendor's receipt {left.id}; it did happen"
            )
        _say(run, effect, "did not happen", actor, reason)
        if key_is_good(effect, facts, now) and _goes_on(run, effect):
            move_effect(effect, EffectState.PENDING, open_sends=0, forgotten_since=None)
        else:
            move_effect(effect, EffectState.WITHDRAWN, open_sends=0, settled_at=Clock(), next_look_at=None)
            give_back(run, effect)
        for wait in waits.of_effect(effect):
            close_wait(wait, WaitState.RESOLVED, by=actor)
        waits.wake(run)


def undo(effect_key: str, *, actor: str, reason: str, receipt_id: str) -> None:
    """Settle an effect in doubt as applied, then end its run and undo what it has done, all in one commit.

    Raises Conflict for an effect that is itself an undo.
    """
    receipt_id = _check_receipt(actor, reason, receipt_id)
    with committing("command"):
        run, effect = _lock(effect_key)
        if effect.undo_of_id is not None or run.state in FINAL:
            raise Conflict(f"{effect_key}: {run.ref} is {run.state}; an undo is not undone again")
        _say(run, effect, "undo", actor, reason)
        _apply(run, effect, receipt_id, actor)
        _turn_back(run, actor)


def ask_again(effect_key: str, *, actor: str, reason: str) -> None:
    """Free the place of a failed effect, so that the step's next execution asks anew: a linked key, gated.

    Raises Conflict unless the run still stands at the step that asked for it.
    """
    runs.check_actor(actor, reason)
    with committing("command"):
        found = _find(effect_key)
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
        _say(run, effect, "ask again", actor, reason)
        move_effect(effect, EffectState.WITHDRAWN)


def acknowledge(effect_key: str, *, actor: str, reason: str) -> None:
    """Close what was put before a person about a settled effect: a conflict, a second receipt, an undo that failed.

    It changes nothing about the effect; `reason` says what was found and done. A run that waited for it goes on.
    Raises Conflict where the effect is not settled, or nothing about it is open.
    """
    runs.check_actor(actor, reason)
    with committing("command"):
        found = _find(effect_key)
        run = lock_run(found.run.ref)
        effect = outcome.locked(found)
        if effect.state in UNSETTLED:
            raise Conflict(f"{effect_key} is {effect.state}; say what became of it")
        asked = [w for w in waits.of_effect(effect) if w.kind == WaitKind.ATTENTION]
        if not asked:
            raise Conflict(f"{effect_key}: nobody is asked to look at it (any more)")
        body = {"attention": sorted({Attention(wait.name).value for wait in asked})}
        journal.record(run, EventKind.SETTLED, effect_key=effect.key, actor=actor, words=reason, body=body)
        for wait in asked:
            close_wait(wait, WaitState.RESOLVED, by=actor)
        waits.wake(run)


def _check_receipt(actor: str, reason: str, receipt_id: str) -> str:
    runs.check_actor(actor, reason)
    check_text(receipt_id, "receipt_id")
    if not 0 < len(receipt_id.strip()) <= _RECEIPT_LIMIT:
        raise Invalid("receipt_id", "give the vendor's own id of what happened; it is the proof")
    return receipt_id.strip()


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


def _find(effect_key: str) -> Effect:
    found = Effect.objects.select_related("run").filter(key=effect_key).first()
    if found is None:
        raise NotFound(f"no effect {effect_key}")
    return found


def _lock(effect_key: str) -> tuple[Run, Effect]:
    found = _find(effect_key)
    run = lock_run(found.run.ref)
    effect = outcome.locked(found)
    if effect.state != EffectState.IN_DOUBT:
        by = f", settled by {last.actor}" if (last := _last_word(effect)) is not None else ""
        raise Conflict(f"{effect_key} is {effect.state}{by}; only an effect in doubt can be settled by hand")
    return run, effect


def _last_word(effect: Effect) -> LedgerEvent | None:
    """The event that settled an effect which a caller still believed in doubt."""
    kinds = [kind.value for kind in (EventKind.VERDICT, EventKind.ADOPTED, EventKind.APPLIED)]
    told = LedgerEvent.objects.filter(effect_key=effect.key, kind__in=kinds)
    return told.order_by("-no").first()


def _say(run: Run, effect: Effect, verdict: str, actor: str, reason: str) -> None:
    body = {"verdict": verdict}
    journal.record(run, EventKind.VERDICT, effect_key=effect.key, actor=actor, words=reason, body=body)


def _apply(run: Run, effect: Effect, receipt_id: str, actor: str) -> None:
    try:
        key = vault.open_key(run.pk, run.ref)
        outcome.apply(run, effect, _receipt(effect, receipt_id), key, actor=actor, adopted=True)
    except outcome.ReceiptTaken as error:
        raise Conflict(f"receipt_id: {error}; it can't prove a second one") from error


def _receipt(effect: Effect, receipt_id: str) -> Receipt:
    """The receipt of that id among the evidence that people saw; for one found elsewhere, what was asked."""
    for wait in waits.of_effect(effect):
        for candidate in wait.detail.get("candidates", []):
            if candidate.get("id") == receipt_id:
                seen = outcome.receipt_from(candidate)
                return replace(seen, facts={**seen.facts, "settled_by": "hand"})
    amount = None if effect.amount_minor is None else from_minor(effect.amount_minor, effect.currency)
    currency = effect.currency or None
    return Receipt(id=receipt_id, amount=amount, currency=currency, facts={"settled_by": "hand"})
