"""What people say about an effect in doubt. One verdict settles it; whoever comes second is told.

"It happened" needs the vendor's receipt. "It did not" counts only after quiescence: the send-by, the time
that a request may still be in flight, and the look-up's lag must be over since the last request. Then a young
key is sent again, and for any other the step gets a new key, linked to the old one, gated whoever answered.
"""

from __future__ import annotations

from django.db import transaction

from durable import clock, faults, runs, tools, vault, waits
from durable.errors import Conflict, Invalid, NotFound
from durable.journal import record
from durable.ledger import outcome
from durable.ledger.record import give_back
from durable.models import Effect, Run
from durable.models.fields import Clock
from durable.money import from_minor
from durable.reconcile import key_is_good, quiet_from
from durable.states import ENDED, EffectState, EventKind, RunState, WaitState
from durable.text import check_text
from durable.transitions import close_wait, lock_run, move_effect
from durable.vendor import Receipt

_RECEIPT_LIMIT = 255


def happened(effect_key: str, *, actor: str, reason: str, receipt_id: str) -> None:
    """Settle an effect in doubt as applied, with the vendor's receipt that a person found."""
    runs.check_actor(actor, reason)
    check_text(receipt_id, "receipt_id")
    if not 0 < len(receipt_id.strip()) <= _RECEIPT_LIMIT:
        raise Invalid("receipt_id", "give the vendor's own id of what happened; it is the proof")
    with transaction.atomic(durable=True):
        run, effect = _lock(effect_key)
        _say(run, effect, "happened", actor, reason)
        _apply(run, effect, receipt_id.strip(), actor)
        waits.wake(run)
        faults.point("command.before_commit")
    faults.point("command.after_commit")


def did_not(effect_key: str, *, actor: str, reason: str) -> None:
    """Settle an effect in doubt as never happened. Raises Conflict before quiescence, saying from when it can
    be said.
    """
    runs.check_actor(actor, reason)
    with transaction.atomic(durable=True):
        run, effect = _lock(effect_key)
        facts = tools.get(effect.tool).facts
        now, quiet = clock.db_now(), quiet_from(effect, facts)
        if now < quiet:
            raise Conflict(f"{effect_key}: the request may still land; say so from {quiet:%H:%M:%S} UTC on")
        _say(run, effect, "did not happen", actor, reason)
        asked = waits.of_effect(effect)
        if key_is_good(effect, facts, now) and run.state == RunState.SUSPENDED:
            move_effect(effect, EffectState.PENDING, open_sends=0)
        else:
            move_effect(effect, EffectState.WITHDRAWN, open_sends=0, settled_at=Clock(), next_look_at=None)
            give_back(run, effect)
        for wait in asked:
            close_wait(wait, WaitState.RESOLVED, by=actor)
        waits.wake(run)
        faults.point("command.before_commit")
    faults.point("command.after_commit")


def undo(effect_key: str, *, actor: str, reason: str, receipt_id: str) -> None:
    """Settle an effect in doubt as applied, then cancel its run and undo what it has done."""
    happened(effect_key, actor=actor, reason=reason, receipt_id=receipt_id)
    run = Effect.objects.select_related("run").get(key=effect_key).run
    if run.state not in ENDED and run.state not in (RunState.CANCELLING, RunState.COMPENSATING):
        runs.cancel(run.ref, actor=actor, reason=reason, undo=True)


def ask_again(effect_key: str, *, actor: str, reason: str) -> None:
    """Free the place of a failed effect, so that the step's next execution asks anew: a linked key, gated.

    Raises Conflict unless the run still stands at the step that asked for it.
    """
    runs.check_actor(actor, reason)
    with transaction.atomic(durable=True):
        found = _find(effect_key)
        run = lock_run(found.run.ref)
        effect = outcome.locked(found)
        if effect.state != EffectState.FAILED:
            raise Conflict(f"{effect_key} is {effect.state}; only a failed effect can be asked for again")
        if (run.step, run.visit) != (effect.step, effect.visit):
            raise Conflict(
                f"{run.ref} has gone on from {effect.step}; nothing would ask for {effect_key} again"
            )
        _say(run, effect, "ask again", actor, reason)
        move_effect(effect, EffectState.WITHDRAWN)
        faults.point("command.before_commit")
    faults.point("command.after_commit")


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
        raise Conflict(f"{effect_key} is {effect.state}; only an effect in doubt can be settled by hand")
    return run, effect


def _say(run: Run, effect: Effect, verdict: str, actor: str, reason: str) -> None:
    record(
        run, EventKind.VERDICT, effect_key=effect.key, actor=actor, words=reason, body={"verdict": verdict}
    )


def _apply(run: Run, effect: Effect, receipt_id: str, actor: str) -> None:
    amount = None if effect.amount_minor is None else from_minor(effect.amount_minor, effect.currency)
    receipt = Receipt(
        id=receipt_id, amount=amount, currency=effect.currency or None, facts={"settled_by": "hand"}
    )
    try:
        outcome.apply(run, effect, receipt, vault.open_key(run.pk, run.ref), actor=actor, adopted=True)
    except outcome.ReceiptTaken as error:
        raise Conflict(f"receipt_id: {error}; it can't prove a second one") from error
