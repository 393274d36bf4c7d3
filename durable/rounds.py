"""Rounds: one asking about one payload. Whatever changes, the payload or the world, opens a new one.

Until the first request an effect's key binds nothing: a step may come back with another payload, a reviewer
may edit it, facts may have moved on. Each of these closes the round that people saw, keeps it in the history,
and asks anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import F

from durable import journal, tools, vault, waits
from durable.beats import asking, committing
from durable.errors import BudgetExhausted, Conflict, Invalid
from durable.gatekeeper import Requirement, gatekeeper
from durable.ledger import Ask, Place, forgotten, gating, outcome
from durable.ledger.ask import about_told, amount_told
from durable.ledger.record import give_back, open_gate, reserve, write_subjects
from durable.models import Effect, Run, Sealed, Wait
from durable.models.fields import Clock
from durable.reconcile import LOOKUP_TIMEOUT, PATIENCE
from durable.states import REFUSED, EffectState, EventKind, WaitKind, WaitState
from durable.text import quoted
from durable.transitions import Claim, close_wait, hold_claim, lock_effect, move_effect
from durable.vendor import Call


@dataclass(frozen=True, slots=True)
class Changed:
    """Facts that no longer hold: a `sentence` that names none of them, what has `moved`, and all as they are `now`."""

    sentence: str
    moved: str
    now: Mapping[str, Any]


def ask_of(effect: Effect) -> Ask:
    """Return the ask that an effect's record holds, as people decided it. Raises UnknownTool, Invalid, vault.Erased."""
    key = vault.key_of(effect.run)
    args = vault.unseal(key, effect.payload)["args"]
    tool = tools.get(effect.tool)
    if effect.undo_of is not None:
        undone = effect.undo_of
        assert undone.proof is not None
        return Ask.to_undo(tool, undone, args, outcome.receipt_from(vault.read(undone.proof)))
    return Ask.of(tool, args, Place(effect.step, effect.visit, effect.ordinal))


def as_decided(effect: Effect, ask: Ask) -> Ask:
    """Return the ask with the payload that people let out: their edit, where there was one."""
    return ask if effect.digest == ask.proposal.digest else ask_of(effect)


def read_facts(ask: Ask, key: str, run_ref: str, within: float = LOOKUP_TIMEOUT) -> Mapping[str, Any]:
    """Read the tool's declared facts at the vendor, within so many seconds. No transaction may be open."""
    assert ask.recheck is not None
    with asking("recheck"):
        return dict(ask.recheck(Call(key=key, run=run_ref, timeout=within, args=ask.proposal.args)))


def changed_facts(effect: Effect, ask: Ask, run_ref: str) -> Changed | None:
    """Compare the facts at drafting with the world as it is. None where everything still holds or nothing was
    declared.
    """
    if ask.recheck is None:
        return None
    now = read_facts(ask, effect.key, run_ref)
    if effect.facts is None:
        return Changed("what it rests on had not been read when people were asked", "", now)
    before: dict[str, Any] = vault.read(effect.facts)
    moved = [
        f"{name} was {quoted(str(before.get(name)))}, is {quoted(str(now.get(name)))}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    return Changed("what it rests on has changed", "; ".join(moved), now) if moved else None


def waited_long(effect: Effect) -> bool:
    """Whether people's yes to the present round has waited longer than `PATIENCE` to be let out."""
    asked = Wait.objects.filter(effect=effect, kind=WaitKind.GATE.value, ordinal=effect.round)
    return asked.filter(closed_at__lt=Clock() - PATIENCE).exists()


def replace(claim: Claim, effect: Effect, ask: Ask) -> Effect:
    """Supersede what was recorded and never sent with what the step asks for now; gated again as its facts demand."""
    facts = None
    run = Run.objects.select_related("parent").get(pk=claim.run_id)
    if ask.recheck is not None and gating.requirement(run, ask, older=effect.linked_from) is not None:
        facts = read_facts(ask, effect.key, claim.run_ref)
    with committing("round"):
        run = hold_claim(claim)
        effect = lock_effect(run, effect.pk)
        if effect.sends:
            raise Conflict(f"{effect.key} has been sent; its payload is bound")
        gating.serialise(run, ask.once_per(settings.INTERLOCK_HASH_KEY))
        # Refused when the backup was made: what came after that, under the same key, is not known.
        doubted = forgotten(run) if run.recovery and effect.recorded_at < run.recovery.at else {}
        needed = None if doubted else gating.requirement(run, ask, older=effect.linked_from)
        payload = vault.seal(run.pk, claim.seal_key, ask.payload)
        _open(
            run,
            effect,
            ask,
            payload,
            needed,
            asked=True,
            actor=claim.actor,
            words="the step asks for something else now",
            facts=None if facts is None else vault.seal(run.pk, claim.seal_key, dict(facts)),
        )
        said = vault.seal(run.pk, claim.seal_key, ask.said) if ask.said else None
        Effect.objects.filter(pk=effect.pk).update(said=said, **doubted)
    effect.refresh_from_db()
    return effect


def reopen(
    claim: Claim,
    effect: Effect,
    decided: Ask,
    sentence: str,
    *,
    private: str = "",
    facts: Mapping[str, Any] | None = None,
) -> Effect:
    """Ask people again about the same payload, because their yes no longer carries it; `sentence` says why.

    It stands on the gate in clear, so it names no fact and quotes no vendor: what does is `private`, and goes with the
    sentence into the event of the new round, sealed.
    """
    with committing("round"):
        run = hold_claim(claim)
        effect = lock_effect(run, effect.pk)
        needed = gating.asked_again(run, decided, sentence)
        sealed = effect.facts if facts is None else vault.seal(run.pk, claim.seal_key, dict(facts))
        _open(
            run,
            effect,
            decided,
            effect.payload,
            needed,
            asked=False,
            actor=claim.actor,
            words=f"{sentence}: {private}" if private else sentence,
            facts=sealed,
        )
    effect.refresh_from_db()
    return effect


def edit(
    run: Run,
    effect: Effect,
    args: Mapping[str, Any],
    *,
    actor: str,
    words: str,
    body: Mapping[str, Any],
) -> Effect:
    """Put a reviewer's edit in place of the payload of a locked, gated effect, and ask about that.

    Raises Invalid for arguments that the tool refuses, or Conflict for what can't be edited (any more); then nothing is
    written. An edit is always asked about, whatever the class of the edited effect would allow.
    """
    place = Place(effect.step, effect.visit, effect.ordinal)
    if effect.undo_of_id is not None:
        raise Conflict(f"{effect.key} undoes what was done; its arguments can't be edited")
    if effect.sends:
        # Whatever became of that request: key and payload are bound since then.
        raise Conflict(f"{effect.key} was sent before; its payload is bound, so approve or reject it")
    ask = Ask.of(tools.get(effect.tool), args, place)
    if ask.proposal.digest == effect.digest:
        raise Conflict(f"{effect.key}: the edit changes nothing; approve or reject it")
    reason = f"edited by {actor}"
    gating.serialise_once_per(ask.once_per(settings.INTERLOCK_HASH_KEY))
    needed = gating.requirement(run, ask, older=effect.linked_from) or gatekeeper().for_class(
        gating.question(run, ask), reason
    )
    payload = vault.seal(run.pk, vault.open_key(run.pk, run.ref), ask.payload)
    try:
        _open(
            run,
            effect,
            ask,
            payload,
            needed,
            asked=False,
            actor=actor,
            words=words,
            kind=EventKind.EDITED,
            body=body,
            facts=effect.facts,
        )
    except BudgetExhausted as error:
        raise Invalid(f"args.{ask.facts.money}", str(error)) from error
    effect.refresh_from_db()
    return effect


def again(run: Run, effect: Effect, *, actor: str, words: str, why: str) -> Effect:
    """Ask about the same payload once more, in the caller's transaction; `why` stands on the new gate.

    Raises what `ask_of` raises.
    """
    ask = ask_of(effect)
    needed = gating.asked_again(run, ask, why)
    _open(run, effect, ask, effect.payload, needed, asked=False, actor=actor, words=words, facts=effect.facts)
    effect.refresh_from_db()
    return effect


def _open(
    run: Run,
    effect: Effect,
    ask: Ask,
    payload: Sealed,
    needed: Requirement | None,
    *,
    asked: bool,
    actor: str,
    words: str,
    facts: Sealed | None,
    kind: EventKind = EventKind.NEW_ROUND,
    body: Mapping[str, Any] | None = None,
) -> None:
    """Close the present round as superseded and open the next, in the caller's transaction."""
    before = effect.digest
    close(run, effect, by=actor)
    columns = _asked(ask) | {
        "round": F("round") + 1,
        "approved_round": None,
        "payload": payload,
        "facts": facts,
        "words": None,
        "settled_at": None,
    }
    if asked:
        columns |= {"digest_asked": ask.proposal.digest, "payload_asked": payload}
    if effect.state not in REFUSED:
        give_back(run, effect)
    move_effect(effect, EffectState.PENDING if needed is None else EffectState.GATED, **columns)
    reserve(run, effect)
    write_subjects(effect, ask)
    journal.record(
        run,
        kind,
        effect_key=effect.key,
        actor=actor,
        words=words,
        body={
            "round": effect.round,
            "digest": effect.digest,
            "digest_before": before,
            **amount_told(ask),
            **about_told(ask, effect.key, settings.INTERLOCK_HASH_KEY),
            **(body or {}),
        },
    )
    if needed is not None:
        open_gate(run, effect, needed)


def _asked(ask: Ask) -> dict[str, Any]:
    """What an effect's row says of what is asked for."""
    proposal = ask.proposal
    return {
        "digest": proposal.digest,
        "tool": ask.tool.name,
        "tool_version": proposal.version,
        "effect_class": ask.effect_class.value,
        "vendor": ask.facts.vendor,
        "amount_minor": proposal.amount_minor,
        "currency": proposal.currency or "",
        "reason": proposal.reason,
        "once_per": ask.once_per(settings.INTERLOCK_HASH_KEY),
    }


def close(run: Run, effect: Effect, *, by: str) -> None:
    """End the gate of the present round, answered or not: its yes is for what people saw, and for nothing else."""
    gatekeeper().close(effect, "superseded")
    for wait in waits.of_effect(effect):
        close_wait(wait, WaitState.WITHDRAWN, by=by)
