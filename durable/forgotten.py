"""What a restore from a backup may have made the ledger forget is looked up before anything is sent.

A run that came out of a backup goes on from where it stood then. What it did after that moment the vendors know, and
the ledger does not: the record of a place of it may be missing, or stand where nothing had been sent yet. So each such
effect is settled as if a request were unanswered, under a rule that is stricter than `reconcile.judge`, because nobody
knows with which payload it was made:

    found, and it matches                                   adopt the receipt; do not act
    not found after quiescence, key honoured and young      nothing was forgotten; go on as if never sent
    not found after quiescence, a person has answered here  the same, under the linked key
    too early for a miss to mean anything                   look again later
    anything else                                           a person, with the evidence

Going on after a miss, the effect keeps the age that its key may have: one that a gate or a vendor delays past half the
key's life is settled by the same rule once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import DateTimeField, F, Value
from django.db.models.functions import Coalesce, Least

from durable import clock, journal, rounds
from durable.beats import committing
from durable.errors import CannotSay
from durable.ledger import Ask, outcome, perhaps_used
from durable.models import Effect, Run
from durable.reconcile import (
    PATIENCE,
    SAFE_SHARE,
    Adopt,
    Doubt,
    LookAgain,
    look_up,
    mismatch,
    pause,
    quiet_from,
    shown,
    silent,
)
from durable.states import OPEN, UNSETTLED, Attention, EffectState, EventKind
from durable.text import quoted
from durable.transitions import Claim, hold_claim, lock_effect, move_effect
from durable.vendor import Absent, Candidates, LookupAnswer, Receipt

_MOMENT = DateTimeField()


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing was forgotten: the effect stands as its ledger says."""


def judge(
    effect: Effect, ask: Ask, answer: LookupAnswer | CannotSay | None, now: datetime
) -> Adopt | Nothing | LookAgain | Doubt:
    """Say what follows from a look-up's `answer` (None: the tool has no look-up) at `now`. Pure but for the link."""
    quiet = quiet_from(effect, ask.facts)
    match answer:
        case Receipt():
            wrong = mismatch(ask, answer, effect.key)
            if not wrong:
                return Adopt(answer)
            return Doubt(f"The vendor has {quoted(answer.id)} under our key, but {wrong}.", _evidence(answer))
        case Candidates():
            sentence = f"The vendor shows {len(answer.receipts)} that could be it."
            return Doubt(sentence, _evidence(*answer.receipts))
        case CannotSay():
            if now < quiet + PATIENCE:
                return LookAgain(pause(effect.looks))
            return Doubt(silent(answer), {})
        case Absent() if now < quiet:
            return LookAgain(min(pause(effect.looks), quiet - now))
        case Absent() if _honoured(effect, ask, now) or _answered_for(effect):
            return Nothing()
        case None if _answered_for(effect):
            return Nothing()
    shows = "can't be asked" if answer is None else "shows nothing of ours, which proves nothing"
    return Doubt(f"The database came out of a backup and may have forgotten it, and the vendor {shows}.", {})


def _evidence(*receipts: Receipt) -> dict[str, object]:
    return {"candidates": [shown(one) for one in receipts]}


def _honoured(effect: Effect, ask: Ask, now: datetime) -> bool:
    """Whether a forgotten request's key, at most as old as the backup, is still honoured: a miss then risks nothing."""
    life, since = ask.facts.idempotent_for, effect.first_sent_at or effect.forgotten_since
    assert since is not None
    return life is not None and not effect.error_saved and now < since + life * SAFE_SHARE


def outlived(run: Run, effect: Effect, ask: Ask) -> bool:
    """Whether an effect that a miss has let go on has waited so long that its key, if it was used, is too old now."""
    kept = not effect.open_sends and perhaps_used(run, effect)
    return kept and not _honoured(effect, ask, clock.db_now())


def _answered_for(effect: Effect) -> bool:
    """Whether a person has said, after the restore, that the act did not happen at this place under the older key."""
    return effect.linked_from is not None and effect.linked_from.forgotten_since is not None


def settle(claim: Claim, effect: Effect, ask: Ask) -> Adopt | Nothing | LookAgain | Doubt:
    """Look one effect up that may have been forgotten, and record what follows; `ask` is what its ledger says now.

    A `Doubt` has been put before a person when this returns. No transaction may be open. Raises LeaseLost, or
    HandingBack before it asks.
    """
    answer = look_up(claim, effect, ask)
    verdict = judge(effect, ask, answer, clock.db_now())
    if isinstance(verdict, Adopt):
        try:
            _adopt(claim, effect, verdict.receipt)
        except outcome.ReceiptTaken as error:
            verdict = Doubt(
                f"The vendor's {quoted(verdict.receipt.id)} matches, but {error}.", _evidence(verdict.receipt)
            )
    elif isinstance(verdict, Nothing):
        _clear(claim, effect, answer, since=None if _answered_for(effect) else effect.forgotten_since)
    elif answer is not None:
        outcome.looked(claim, effect, type(answer).__name__.lower())
    if isinstance(verdict, Doubt):
        _doubt(claim, effect, verdict)
    return verdict


def _adopt(claim: Claim, effect: Effect, receipt: Receipt) -> None:
    with committing("adopt"):
        run = hold_claim(claim)
        effect = _as_pending(run, lock_effect(run, effect.pk), claim.actor)
        if effect.state in UNSETTLED:
            outcome.apply(run, effect, receipt, claim.seal_key, actor=claim.actor, adopted=True)


def _doubt(claim: Claim, effect: Effect, verdict: Doubt) -> None:
    with committing("doubt"):
        run = hold_claim(claim)
        effect = _as_pending(run, lock_effect(run, effect.pk), claim.actor)
        if effect.state in UNSETTLED:
            # One that has outlived its key is doubted again: a verdict on it frees the place, as for any other.
            since = Coalesce("forgotten_since", "first_sent_at")
            Effect.objects.filter(pk=effect.pk).update(forgotten_since=since)
            outcome.put_in_doubt(run, effect, Attention.IN_DOUBT, verdict.sentence, verdict.evidence)


def _clear(
    claim: Claim, effect: Effect, answer: LookupAnswer | CannotSay | None, *, since: datetime | None
) -> None:
    """From here on the ledger is believed again, and with it the gate that may stand open on the effect.

    Its key keeps the age that it has if the vendor should have shown nothing of what was done `since`.
    """
    with committing("looked"):
        run = hold_claim(claim)
        if lock_effect(run, effect.pk).state not in OPEN:
            return
        Effect.objects.filter(pk=effect.pk).update(
            looks=F("looks") + 1,
            forgotten_since=None,
            first_sent_at=Least("first_sent_at", Value(since, _MOMENT)),
        )
        body = {"found": "nothing asked" if answer is None else "absent", "forgotten": "nothing"}
        journal.record(run, EventKind.LOOKED_UP, effect_key=effect.key, actor=claim.actor, body=body)


def _as_pending(run: Run, effect: Effect, by: str) -> Effect:
    """Set aside what people are asked, or have said, about a locked effect that may be done already.

    One that somebody has settled while the vendor was asked stays settled.
    """
    if effect.state in (EffectState.GATED, EffectState.APPROVED):
        rounds.close(run, effect, by=by)
        move_effect(effect, EffectState.PENDING)
    return effect
