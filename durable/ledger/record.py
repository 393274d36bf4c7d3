"""The first beat: write down what is about to be done, before it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from durable import draining, journal, vault
from durable.beats import committing
from durable.digest import keyed_hash
from durable.errors import Stopping
from durable.gatekeeper import Requirement, gatekeeper
from durable.journal import Entry
from durable.ledger import gating, purse
from durable.ledger.ask import Ask
from durable.ledger.places import key_of, undo_key_of
from durable.ledger.release import Sending, forward_only, send_out
from durable.ledger.sends import forgotten
from durable.models import Effect, Run, Subject
from durable.states import EffectState, EventKind, RunState, WaitKind
from durable.transitions import Claim, hold_claim
from durable.waits import REVIEWER, WaitSpec, open_wait


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded intent, and the leave to send it where nobody has to be asked first."""

    effect: Effect
    sending: Sending | None


def record(
    claim: Claim,
    ask: Ask,
    *,
    facts: Mapping[str, Any] | None = None,
    older: Effect | None = None,
    send: bool = True,
) -> Recorded:
    """Record the intent, reserve its money, and either release it or open its gate, in one commit.

    `facts` are those that the tool's `recheck` read at drafting; `older` is the effect that a person declared
    as never happened, to which the new key is linked. Without `send`, and in a run that came out of a backup, the
    effect stays pending, to be released by itself. Raises LeaseLost, Stopping, HandingBack, BudgetExhausted; then
    nothing is written.
    """
    with committing("intent" if ask.undo_of is None else "undo"):
        run = hold_claim(claim)
        _may_intend(run, ask)
        once_per = ask.once_per(settings.INTERLOCK_HASH_KEY)
        gating.serialise_once_per(once_per)
        link = older.link + 1 if older else 1
        # What may be forgotten is looked up first, and people are asked once nothing of it is found.
        doubted = forgotten(run)
        needed = None if doubted else gating.requirement(run, ask, link=link)
        state = EffectState.PENDING if needed is None else EffectState.GATED
        columns = {"state": state.value, "once_per": once_per, "link": link, "linked_from": older, **doubted}
        effect = _insert(claim, run, ask, columns, facts=facts, said=bool(needed or doubted))
        reserve(run, effect)
        _journal(claim, run, effect, needed)
        if needed is not None:
            open_gate(run, effect, needed)
        sending = send_out(claim, run, effect, ask) if send and not (needed or doubted) else None
    return Recorded(effect, sending)


def _may_intend(run: Run, ask: Ask) -> None:
    """No new intent once a run, or its worker, is to stop; undos belong to a compensating run and to no other."""
    wanted = RunState.COMPENSATING if ask.undo_of is not None else RunState.RUNNING
    if run.state != wanted:
        raise Stopping(f"{run.ref} is {run.state}")
    draining.check(run.ref)
    forward_only(run, ask)


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


def _insert(
    claim: Claim,
    run: Run,
    ask: Ask,
    columns: Mapping[str, Any],
    *,
    facts: Mapping[str, Any] | None,
    said: bool,
) -> Effect:
    payload = vault.seal(run.pk, claim.seal_key, ask.payload)
    place = ask.place
    effect = Effect.objects.create(
        run=run,
        key=undo_key_of(ask.undo_of, columns["link"])
        if ask.undo_of
        else key_of(run.ref, place, columns["link"]),
        step=place.step,
        visit=place.visit,
        ordinal=place.ordinal,
        undo_of=ask.undo_of,
        tool=ask.tool.name,
        tool_version=ask.proposal.version,
        effect_class=ask.effect_class.value,
        digest_asked=ask.proposal.digest,
        digest=ask.proposal.digest,
        payload_asked=payload,
        payload=payload,
        facts=None if facts is None else vault.seal(run.pk, claim.seal_key, dict(facts)),
        said=vault.seal(run.pk, claim.seal_key, ask.said) if said and ask.said else None,
        vendor=ask.facts.vendor,
        amount_minor=ask.proposal.amount_minor,
        currency=ask.proposal.currency or "",
        **columns,
    )
    write_subjects(effect, ask.proposal.subjects)
    return effect


def write_subjects(effect: Effect, subjects: Mapping[str, str]) -> None:
    """Index an effect by whom it is about, as keyed hashes."""
    Subject.objects.filter(effect=effect).delete()
    Subject.objects.bulk_create(
        Subject(effect=effect, kind=kind, hash=keyed_hash(kind, value, settings.INTERLOCK_HASH_KEY))
        for kind, value in subjects.items()
    )


def _journal(claim: Claim, run: Run, effect: Effect, needed: Requirement | None) -> None:
    body: dict[str, Any] = {
        "tool": effect.tool,
        "tool_version": effect.tool_version,
        "class": effect.effect_class,
        "digest": effect.digest,
        "attempt": claim.attempt,
    }
    if effect.amount_minor is not None:
        body |= {"amount_minor": effect.amount_minor, "currency": effect.currency}
    entries = [Entry(EventKind.INTENT, effect.key, claim.actor, body)]
    if effect.linked_from is not None:
        entries.append(Entry(EventKind.LINKED, effect.key, body={"older": effect.linked_from.key}))
    journal.append(run, entries, key=claim.seal_key)
