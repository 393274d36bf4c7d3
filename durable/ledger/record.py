"""The first beat: write down what is about to be done, before it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from durable import clock, draining, journal
from durable.beats import committing, stating
from durable.gatekeeper import Requirement, gatekeeper
from durable.ledger import gating, purse
from durable.ledger.ask import Ask, hashes_of
from durable.ledger.intent import Draft, insert
from durable.ledger.release import Sending, within
from durable.ledger.sends import forgotten
from durable.models import Effect, Run, Subject
from durable.states import EventKind, WaitKind
from durable.transitions import Claim, hold_claim
from durable.waits import REVIEWER, WaitSpec, open_wait


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded intent, and the leave to send it where nobody has to be asked first."""

    effect: Effect
    sending: Sending | None


def record(
    claim: Claim,
    run: Run,
    ask: Ask,
    *,
    facts: Mapping[str, Any] | None = None,
    older: Effect | None = None,
    send: bool = True,
) -> Recorded:
    """Record the intent, reserve its money, and either release it or open its gate, in one commit.

    `run` is the claimed run as its worker has read it. `facts` are those that the tool's `recheck` read at drafting;
    `older` is the effect that is over and did nothing, to which the new key is linked. Without `send`, and
    in a run that came out of a backup, the effect stays pending, to be released by itself. Raises LeaseLost, Stopping,
    HandingBack, BudgetExhausted; then nothing is written.
    """
    once_per = ask.once_per(settings.INTERLOCK_HASH_KEY)
    # What may be forgotten is looked up first, and people are asked once nothing of it is found.
    doubted = forgotten(run)
    # What others may record at this moment is asked about once they can't any more.
    alone = not (once_per or run.has_kin)
    needed = gating.requirement(run, ask, older=older) if alone and not doubted else None
    beat = "intent" if ask.undo_of is None else "undo"
    with stating(beat) if alone and needed is None else committing(beat):
        if not alone:
            hold_claim(claim)
            gating.serialise(run, once_per)
            needed = None if doubted else gating.requirement(run, ask, older=older)
        draft = Draft(ask, once_per, older, doubted, needed, send=send and not (needed or doubted))
        since = clock.elapsed()
        draining.check(run.ref)
        effect = insert(claim, run, draft, facts)
        if needed is not None:
            open_gate(run, effect, needed)
            draining.check(run.ref)
    claim.unbilled = None  # a transaction that was undone has not taken it along
    return Recorded(effect, Sending(since, within(claim, ask).total_seconds()) if draft.send else None)


def reserve(run: Run, effect: Effect) -> None:
    """Reserve an effect's money. An undo stands outside the limit. Raises BudgetExhausted."""
    if effect.amount_minor is not None and effect.undo_of_id is None:
        purse.reserve(run, effect.amount_minor, effect.currency)


def give_back(run: Run, effect: Effect) -> None:
    """Give an effect's reservation back: it was refused, failed, superseded or never happened."""
    if effect.amount_minor is not None and effect.undo_of_id is None:
        purse.give_back(run, effect.amount_minor, effect.currency)


def open_gate(run: Run, effect: Effect, needed: Requirement) -> None:
    """Open the wait and the gate of the effect's current round, and say so in the ledger."""
    wait = open_wait(
        run,
        WaitSpec(
            WaitKind.GATE,
            effect.key,
            step=effect.step,
            visit=effect.visit,
            ordinal=effect.round,
            within=needed.decide_within,
            waits_for=REVIEWER,
            effect=effect,
        ),
    )
    gatekeeper().open(wait, effect, needed)
    journal.record(
        run,
        EventKind.GATED,
        effect_key=effect.key,
        words=needed.reason,
        body={"round": effect.round, "digest": effect.digest},
    )


def write_subjects(effect: Effect, ask: Ask) -> None:
    """Index an effect by whom an ask is about, as keyed hashes."""
    Subject.objects.filter(effect=effect).delete()
    Subject.objects.bulk_create(
        Subject(effect=effect, run_id=effect.run_id, kind=kind, hash=hash)
        for kind, hash in hashes_of(ask, settings.INTERLOCK_HASH_KEY).items()
    )
