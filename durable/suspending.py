"""Putting a run to rest: a checkpoint, an open wait, and nobody holding the run.

The waits are read again under the run's lock, so that an answer that came first is not lost: then the run is queued
instead of suspended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from durable import waits, wakeup
from durable.beats import committing
from durable.checkpoints import Snapshot, columns, paid
from durable.errors import Stopping
from durable.models import Run, Stop, Wait
from durable.sql import answer
from durable.states import ENDING, AttemptEnd, Attention, CheckpointKind, RunState, WaitKind, WaitState
from durable.transitions import Claim, hold_claim
from durable.transitions.lives import REST, REST_AT
from durable.waits import WaitSpec


def suspend(
    claim: Claim,
    reasons: Sequence[object],
    snap: Snapshot | None,
    *,
    ending: bool = False,
    how: AttemptEnd = AttemptEnd.SUSPENDED,
) -> RunState:
    """Give the run up until one of `reasons` (waits, or waits to be) is answered. Returns the state it is left in.

    Raises LeaseLost, BudgetExhausted, or (unless `ending` says that the run was driven towards its end) Stopping
    for a run that was cancelled meanwhile: nobody is to be asked for what it wanted on its way forward. Then
    nothing is written.
    """
    with committing("suspend"):
        run = hold_claim(claim)
        if run.state in ENDING and not ending:
            raise Stopping(f"{run.ref} is {run.state}")
        still = [_wait(run, reason).state == WaitState.OPEN for reason in reasons]
        kept = snap if snap is not None and not snap.refused else None
        # Without anything open to wait for, whatever it was has been answered already.
        return _rest(run, claim, kept, how, answered=not all(still) or not still)


def hand_back(claim: Claim, snap: Snapshot | None) -> RunState:
    """Give the run up unharmed, whatever it was on its way to: due at once, for any other worker to go on.

    No crash and no retry is counted. Steps that are not written yet (`exit` mode) are written with it. Raises LeaseLost
    or BudgetExhausted; then nothing is written.
    """
    unwritten = snap if snap is not None and snap.unwritten else None
    return suspend(claim, (), unwritten, ending=True, how=AttemptEnd.RELEASED)


def stuck(
    claim: Claim, reason: Attention, sentence: str, snap: Snapshot | None = None, *, ending: bool = False
) -> RunState:
    """Put the run before a person; `sentence` says why it is stuck. `ending` as in `suspend`."""
    spec = WaitSpec(WaitKind.ATTENTION, reason.value, detail={"sentence": sentence})
    return suspend(claim, [spec], snap, ending=ending)


def _wait(run: Run, reason: object) -> Wait:
    if isinstance(reason, Wait):
        reason.refresh_from_db()
        return reason
    assert isinstance(reason, WaitSpec)
    if reason.kind is WaitKind.ATTENTION:
        evidence = {name: value for name, value in reason.detail.items() if name != "sentence"}
        return waits.open_attention(
            run, Attention(reason.name), reason.detail["sentence"], effect=reason.effect, evidence=evidence
        )
    if reason.kind is WaitKind.HOLD and _lifted(reason.detail.get("stop")):
        return Wait(state=WaitState.RESOLVED.value)
    wait = waits.open_wait(run, reason)
    signal = waits.waiting_signal(run, reason.name) if reason.kind is WaitKind.EVENT else None
    if signal is not None:
        waits.consume(run, wait, signal)
        wait.refresh_from_db()
    return wait


def _lifted(stop: int | None) -> bool:
    """Whether a stop order is over. Locks it, so that who lifts it sees the wait, or this sees it lifted."""
    return stop is not None and not Stop.objects.select_for_update().filter(pk=stop, lifted_at=None).exists()


def _rest(run: Run, claim: Claim, snap: Snapshot | None, how: AttemptEnd, *, answered: bool) -> RunState:
    """Put a locked run down, with a checkpoint where there is progress to keep. One that is held is not due."""
    due = answered and not run.held
    values: dict[str, Any] = {**claim.token, "how": how.value, "due": due}
    if snap is None:
        row = answer(REST, values)
    else:
        with paid(snap):
            row = answer(REST_AT, values | columns(snap, CheckpointKind.SUSPEND, (snap.step, snap.visit)))
    assert row is not None
    if due:
        wakeup.announce(run.ref)
    return RunState(row[0])
