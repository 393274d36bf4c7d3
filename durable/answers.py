"""What people's answers at a gate do to the engine, inside the transaction in which the console records the decision.

The caller locks first (`lock`: run, wait, effect, in this order; the console's gate comes last), checks, and
then calls one of these. Decision, ledger event and the run's wake-up are one commit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from durable import journal, rounds, vault, waits
from durable.beats import committing
from durable.errors import Conflict, Invalid
from durable.gatekeeper import gatekeeper
from durable.ledger.record import give_back
from durable.models import Effect, LedgerEvent, Run, Wait
from durable.models.fields import Clock
from durable.states import ENDING, EffectState, EventKind, RunState, WaitKind, WaitState
from durable.text import check_text
from durable.transitions import close_wait, lock_effect, lock_run, move_effect


@dataclass(frozen=True, slots=True)
class Locked:
    """A gate's run, wait and effect, each locked until the caller's transaction ends."""

    run: Run
    wait: Wait
    effect: Effect


def lock(run_ref: str, wait_id: int) -> Locked:
    """Lock what a gate stands on. Raises NotFound, or Conflict where the wait is closed, saying by whom."""
    run = lock_run(run_ref)
    wait = waits.get_open(run, wait_id)
    if wait.kind != WaitKind.GATE or wait.effect_id is None:
        raise Conflict(f"{wait} is no gate")
    effect = lock_effect(run, wait.effect_id)
    if run.state in ENDING and effect.undo_of_id is None:
        raise Conflict(f"{run.ref} is {run.state}{_asked_by(run)}; nothing of it is let out any more")
    if effect.state != EffectState.GATED:
        raise Conflict(f"{effect.key} is {effect.state}")
    return Locked(run, wait, effect)


def _asked_by(run: Run) -> str:
    """Who has turned a run towards its end, in words that follow its state; nothing where the run did so itself."""
    asked = (EventKind.CANCEL_ASKED, EventKind.COMPENSATION_ASKED, EventKind.VERDICT)
    told = (
        LedgerEvent.objects.filter(run_ref=run.ref, kind__in=[kind.value for kind in asked])
        .order_by("-no")
        .first()
    )
    return f", asked by {told.actor}" if told is not None and run.state != RunState.FAILING else ""


def approve(locked: Locked, *, actor: str, words: str = "", body: Mapping[str, Any]) -> None:
    """Let the effect out, in its present round, once. The run goes on in whichever process claims it."""
    run, effect = locked.run, locked.effect
    moved = _moved(effect, EffectState.APPROVED)
    move_effect(effect, EffectState.APPROVED, approved_round=effect.round)
    told = _bound(effect, body) | moved
    journal.record(run, EventKind.APPROVED, effect_key=effect.key, actor=actor, words=words, body=told)
    waits.resolve(run, locked.wait, by=actor, answer={"verdict": "approve"})


def reject(locked: Locked, *, actor: str, words: str, body: Mapping[str, Any]) -> None:
    """Refuse the effect; the reviewer's words reach the agent unchanged. Raises Invalid without words."""
    check_text(words, "words")
    if not words.strip():
        raise Invalid("words", "a rejection needs a reason: the agent and the record get it")
    _refuse(locked, EffectState.REJECTED, EventKind.REJECTED, WaitState.RESOLVED, actor, words, body)


def expire(locked: Locked) -> None:
    """Nobody answered in time: refused, distinct from rejected, and never an approval."""
    gatekeeper().close(locked.effect, "expired")
    _refuse(
        locked,
        EffectState.EXPIRED,
        EventKind.EXPIRED,
        WaitState.EXPIRED,
        journal.ENGINE,
        "nobody decided in time; propose it again if it is still needed",
        {},
    )


def edit(
    locked: Locked, *, actor: str, args: Mapping[str, Any], words: str = "", body: Mapping[str, Any]
) -> Effect:
    """Replace the payload by the reviewer's; that opens a round which somebody else decides. Raises Invalid."""
    return rounds.edit(locked.run, locked.effect, args, actor=actor, words=words, body=body)


def ask_back(locked: Locked, *, actor: str, words: str, body: Mapping[str, Any]) -> None:
    """Ask before deciding. The effect stays gated and its clock runs on; `answer_back` opens the next round."""
    if not words.strip():
        raise Invalid("words", "say what you want to know")
    journal.record(
        locked.run,
        EventKind.ASKED_BACK,
        effect_key=locked.effect.key,
        actor=actor,
        words=words,
        body=_bound(locked.effect, body),
    )


def answer_back(locked: Locked, *, actor: str, words: str) -> Effect:
    """Answer what a reviewer asked back: a new round about the same payload, with the answer shown."""
    if not words.strip():
        raise Invalid("words", "say what the reviewer wanted to know")
    why = "a reviewer's question has been answered"
    return rounds.again(locked.run, locked.effect, actor=actor, words=words, why=why)


def withdraw(run: Run, effect: Effect, *, actor: str, words: str) -> None:
    """Take back an effect of a locked run that was never sent: its run is to stop, or an operator skips its step."""
    gatekeeper().close(effect, "withdrawn")
    for wait in waits.of_effect(effect):
        close_wait(wait, WaitState.WITHDRAWN, by=actor)
    _settle_refused(run, effect, EffectState.WITHDRAWN, EventKind.WITHDRAWN, actor, words, {})


def keep_refused(
    run_ref: str, effect_key: str, *, actor: str, about: Mapping[str, Any], body: Mapping[str, Any]
) -> None:
    """Write an answer that could not be recorded into the run's ledger, once for one actor, effect and `about`."""
    with committing("refusal"):
        run = lock_run(run_ref)
        kept = LedgerEvent.objects.filter(
            run_ref=run_ref, kind=EventKind.REFUSED_DECISION.value, actor=actor, effect_key=effect_key
        )
        if any(about.items() <= json.loads(one).items() for one in kept.values_list("body", flat=True)):
            return
        journal.record(
            run, EventKind.REFUSED_DECISION, actor=actor, effect_key=effect_key, body={**about, **body}
        )


def _refuse(
    locked: Locked,
    state: EffectState,
    kind: EventKind,
    wait_state: WaitState,
    actor: str,
    words: str,
    body: Mapping[str, Any],
) -> None:
    if locked.effect.forgotten_since is not None:
        # Refused now, it would count as never done, whatever the vendor has done since the backup.
        raise Conflict(f"{locked.effect.key} may have been done before the restore; it is looked up first")
    _settle_refused(locked.run, locked.effect, state, kind, actor, words, body)
    waits.resolve(locked.run, locked.wait, by=actor, answer={"verdict": state.value}, to=wait_state)


def _settle_refused(
    run: Run,
    effect: Effect,
    state: EffectState,
    kind: EventKind,
    actor: str,
    words: str,
    body: Mapping[str, Any],
) -> None:
    sealed = vault.seal(run.pk, vault.open_key(run.pk, run.ref), words) if words else None
    told = _bound(effect, body) | _moved(effect, state)
    move_effect(effect, state, words=sealed, settled_at=Clock(), next_look_at=None)
    give_back(run, effect)
    journal.record(run, kind, effect_key=effect.key, actor=actor, words=words, body=told)


def _moved(effect: Effect, to: EffectState) -> dict[str, Any]:
    """Where the effect stands and where it goes, as the log of acts tells it."""
    return {"before": {"state": effect.state}, "after": {"state": to.value}}


def _bound(effect: Effect, body: Mapping[str, Any]) -> dict[str, Any]:
    """What an answer was about: the digest and the round, beside what the console adds."""
    return {"digest": effect.digest, "round": effect.round, **body}
