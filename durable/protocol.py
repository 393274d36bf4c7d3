"""The effect protocol: what the ledger says about a key decides what the engine does. One loop, one row a state.

A step asks for an effect; the same ask comes again whenever the step is executed again. First the ask is
compared with what the key has recorded: another one that was never sent opens a new round, another one that
was sent is a conflict, for people. The same one goes on from where its ledger stands. The loop ends with a
receipt, a typed refusal, or a suspension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from durable import clock, forgotten, ledger, rounds, vault, waits
from durable.beats import committing
from durable.errors import (
    EffectFailed,
    EffectRefused,
    Suspension,
    VendorError,
    VendorRefused,
)
from durable.ledger import Ask, gating, outcome
from durable.models import Effect, Run
from durable.reconcile import (
    LONGEST_ANSWER,
    Doubt,
    LookAgain,
    SendAgain,
    key_is_good,
    pause,
    settle,
)
from durable.sending import SHORT, send, wait_for
from durable.states import OPEN, REFUSED, Attention, EffectState, RunState
from durable.text import quoted
from durable.transitions import Claim, hold_claim, lock_effect
from durable.vendor import Receipt


def perform(claim: Claim, run: Run, ask: Ask, *, first: bool = False) -> Receipt:
    """Bring an asked effect to its receipt, doing once what has to be done.

    `run` is the claimed run as its worker has read it. `first` says that nobody has executed this visit of the step
    before, so that no record has to be looked for. Raises EffectRefused or EffectFailed (for the step to handle),
    Suspension where people or time must come first, BudgetExhausted, Stopping, HandingBack, LeaseLost.
    """
    effect = None if first else ledger.at(run, ask.place, ask.undo_of)
    if effect is None or _never_happened(effect):
        gift = _inherited(run, ask)
        if gift is not None:
            return gift
        effect = _begin(claim, run, ask, effect)
    while not _is_applied(effect, ask):
        effect = _advance(claim, run, effect, ask)
    return receipt_of(claim, effect)


def perform_all(claim: Claim, run: Run, asks: Sequence[Ask]) -> list[Receipt | EffectRefused | EffectFailed]:
    """Bring the effects of one turn to their ends. All intents are recorded before the first of them acts.

    Returns a receipt or a refusal for each, in order. Raises Suspension on everything that any of them waits for, once
    all have gone as far as they go.
    """
    for ask in asks:
        found = ledger.at(run, ask.place)
        if found is None and _inherited(run, ask) is None:
            ledger.record(claim, run, ask, facts=facts_at_drafting(run, ask, None), send=False)
    answers: list[Receipt | EffectRefused | EffectFailed] = []
    pending: list[object] = []
    for ask in asks:
        try:
            answers.append(perform(claim, run, ask))
        except (EffectRefused, EffectFailed) as refusal:
            answers.append(refusal)
        except Suspension as suspension:
            pending += suspension.waits
    if pending:
        raise Suspension(*pending)
    return answers


def _begin(claim: Claim, run: Run, ask: Ask, older: Effect | None) -> Effect:
    """Record the intent and, where nobody has to be asked, act. Returns the effect wherever it then stands."""
    recorded = ledger.record(claim, run, ask, facts=facts_at_drafting(run, ask, older), older=older)
    if recorded.sending is not None:
        return send(claim, recorded.effect, ask, recorded.sending)
    return recorded.effect


def _is_applied(effect: Effect, ask: Ask) -> bool:
    """Whether this very ask is done. Another one under the same key is a conflict, done or not."""
    return effect.state == EffectState.APPLIED and not _differs(effect, ask)


def _differs(effect: Effect, ask: Ask) -> bool:
    return effect.digest_asked != ask.proposal.digest or effect.tool != ask.tool.name


def facts_at_drafting(run: Run, ask: Ask, older: Effect | None) -> Mapping[str, Any] | None:
    """Read the tool's facts if people are going to be asked: they are shown, and must still hold at release."""
    if ask.recheck is None:
        return None
    if gating.requirement(run, ask, older=older) is None:
        return None
    link = older.link + 1 if older else 1
    return rounds.read_facts(ask, ledger.key_of(run.ref, ask.place, link), run.ref)


def _never_happened(effect: Effect) -> bool:
    """A person said so after quiescence (`verdicts`): the place is free for a new key, linked to this one."""
    asked_about = effect.sends > 0 or effect.forgotten_since is not None
    return effect.state == EffectState.WITHDRAWN and asked_about


def _advance(claim: Claim, run: Run, effect: Effect, ask: Ask) -> Effect:
    """Do what the ledger's state of the effect asks for; returns the effect as it stands after that."""
    if effect.state in OPEN and (effect.forgotten_since is not None or forgotten.outlived(run, effect, ask)):
        return _perhaps_forgotten(claim, effect, ask)
    if _differs(effect, ask):
        return _another_ask(claim, effect, ask)
    state = EffectState(effect.state)
    if state in REFUSED:
        raise EffectRefused(effect.key, state.value, "" if effect.words is None else vault.read(effect.words))
    match state:
        case EffectState.FAILED:
            code, _, message = effect.failure.partition(": ")
            raise EffectFailed(effect.key, code, message)
        case EffectState.GATED | EffectState.IN_DOUBT:
            return _wait_on(claim, effect, ask)
        case EffectState.APPROVED:
            return _let_out(claim, effect, rounds.as_decided(effect, ask))
        case _:
            return _pending(claim, effect, rounds.as_decided(effect, ask))


def _perhaps_forgotten(claim: Claim, effect: Effect, ask: Ask) -> Effect:
    """The run came out of a backup: before anything else, learn whether the act was done and forgotten."""
    if effect.state == EffectState.IN_DOUBT:
        return _wait_on(claim, effect, ask)
    verdict = forgotten.settle(claim, effect, rounds.as_decided(effect, ask))
    effect.refresh_from_db()
    match verdict:
        case Doubt():
            return _wait_on(claim, effect, ask)
        case LookAgain(pause=later):
            wait_for(effect, later, "look again")
    return effect


def _wait_on(claim: Claim, effect: Effect, ask: Ask) -> Effect:
    """Suspend on what people are asked about an effect. Where they have just answered, return how it stands now.

    Where nobody is asked, they are from now on: a run that waited for nothing would go round and round.
    """
    before = effect.state, effect.round
    asked = waits.of_effect(effect)
    effect.refresh_from_db()
    if asked:
        raise Suspension(*asked)
    if (effect.state, effect.round) != before:
        return effect
    if effect.state == EffectState.GATED:
        return rounds.reopen(claim, effect, rounds.as_decided(effect, ask), "its gate was lost")
    return _in_doubt(claim, effect, "It is in doubt, and nobody was asked about it any more.")


def _another_ask(claim: Claim, effect: Effect, ask: Ask) -> Effect:
    """The step asks for something else under a key that has a record."""
    if effect.sends == 0 and effect.state != EffectState.APPLIED:
        return rounds.replace(claim, effect, ask)
    with committing("doubt"):
        run = hold_claim(claim)
        sentence = (
            f"{effect.key} was sent with one payload, and the step now asks for another. "
            "Key and payload are bound since the first request."
        )
        wait = outcome.put_in_doubt(
            run,
            lock_effect(run, effect.pk),
            Attention.CONFLICT,
            sentence,
            {"digest_sent": effect.digest, "digest_asked": ask.proposal.digest},
        )
    raise Suspension(wait)


def _let_out(claim: Claim, effect: Effect, decided: Ask) -> Effect:
    """Release what people approved, if it may still go; else ask them again, showing what changed."""
    try:
        changed = rounds.changed_facts(effect, decided, claim.run_ref)
    except VendorRefused as error:
        return _unreadable(claim, effect, decided, error)
    except VendorError as error:
        outcome.looked(claim, effect, "facts can't be read")
        if rounds.waited_long(effect):
            return _unreadable(claim, effect, decided, error)
        wait_for(effect, max(pause(effect.looks), 2 * SHORT), "read the facts again")
        return effect
    if changed is not None:
        return rounds.reopen(
            claim, effect, decided, changed.sentence, private=changed.moved, facts=changed.now
        )
    released = ledger.release(claim, effect, decided)
    if released.sending is None:
        return rounds.reopen(claim, effect, decided, released.refused)
    return send(claim, released.effect, decided, released.sending)


def _unreadable(claim: Claim, effect: Effect, decided: Ask, error: VendorError) -> Effect:
    said = quoted(error.message if isinstance(error, VendorRefused) else str(error), LONGEST_ANSWER)
    return rounds.reopen(claim, effect, decided, "what it rests on can't be read any more", private=said)


def _pending(claim: Claim, effect: Effect, decided: Ask) -> Effect:
    """Meant or sent, and not settled. Never a blind repeat: an open request is looked up first."""
    if effect.open_sends:
        verdict = settle(claim, effect, decided)
        effect.refresh_from_db()
        match verdict:
            case Doubt():
                return _wait_on(claim, effect, decided)
            case LookAgain(pause=later):
                wait_for(effect, later, "look again")
                return effect
            case SendAgain(pause=later):
                wait_for(effect, later, "send again")
            case _:
                return effect
    elif not _may_repeat(effect, decided):
        return _in_doubt(
            claim, effect, "It was said not to have happened, and its key has grown too old since."
        )
    if effect.approved_round is not None and ledger.never_left(effect):
        return _let_out(
            claim, effect, decided
        )  # of a yes that has moved nothing yet, facts must hold at each send
    released = ledger.release(claim, effect, decided)
    if released.sending is not None:
        return send(claim, released.effect, decided, released.sending)
    if ledger.never_left(released.effect):
        return rounds.reopen(claim, effect, decided, released.refused)
    return _in_doubt(claim, effect, f"It may not be sent again: {released.refused}.")


def _may_repeat(effect: Effect, ask: Ask) -> bool:
    """Whether an effect without an open request may be sent under its key: a used key must be honoured and young."""
    return ledger.never_left(effect) or key_is_good(effect, ask.facts, clock.db_now())


def _in_doubt(claim: Claim, effect: Effect, sentence: str) -> Effect:
    outcome.doubt(claim, effect, Attention.IN_DOUBT, sentence, {})
    effect.refresh_from_db()
    return effect


def _inherited(run: Run, ask: Ask) -> Receipt | None:
    """A fork sees its parent's whole ledger: an equal call at the same place has its receipt already."""
    if run.parent_id is None or ask.undo_of is not None:
        return None
    found = ledger.inherited(run, ask.place)
    if found is None or found.proof is None or _differs(found, ask) or found.state != EffectState.APPLIED:
        return None
    # What was taken back, or is about to be: people are asked whether to do it once more.
    kept = [state.value for state in (*REFUSED, EffectState.FAILED)]
    if found.run.state == RunState.COMPENSATING or found.undos.exclude(state__in=kept).exists():
        return None
    return _as_decided(outcome.receipt_from(vault.read(found.proof)), vault.read(found.payload))


def receipt_of(claim: Claim, effect: Effect) -> Receipt:
    """Return the receipt of an applied effect, and in it the payload as people decided it."""
    assert effect.proof is not None
    receipt = outcome.receipt_from(vault.unseal(claim.seal_key, effect.proof))
    return _as_decided(receipt, vault.unseal(claim.seal_key, effect.payload))


def _as_decided(receipt: Receipt, payload: Mapping[str, Any]) -> Receipt:
    return replace(receipt, decided=payload["args"])
