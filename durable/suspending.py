"""Putting a run to rest: a checkpoint, an open wait, and nobody holding the run.

The waits are read again under the run's lock, so that an answer that came first is not lost: then the run is queued
instead of suspended.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from durable import claims, faults, waits, wakeup
from durable.checkpoints import Snapshot, write
from durable.models import Run, Wait
from durable.models.fields import Clock
from durable.states import ENDING, AttemptEnd, Attention, CheckpointKind, RunState, WaitKind, WaitState
from durable.transitions import Claim, hold_claim, move_run
from durable.waits import WaitSpec


def suspend(claim: Claim, reasons: Sequence[object], snap: Snapshot | None) -> RunState:
    """Give the run up until one of `reasons` (waits, or waits to be) is answered. Returns the state it is left in.

    Raises LeaseLost; then nothing is written.
    """
    with transaction.atomic(durable=True):
        run = hold_claim(claim)
        opened = [_wait(run, reason) for reason in reasons]
        if snap is not None and run.state == RunState.RUNNING:
            write(run, snap, CheckpointKind.SUSPEND, attempt=claim.attempt)
        answered = [wait for wait in opened if wait.state != WaitState.OPEN]
        _rest(run, answered=bool(answered) and not run.held)
        claims.let_go(run, claim.attempt, AttemptEnd.SUSPENDED)
        faults.point("suspend.before_commit")
    faults.point("suspend.after_commit")
    return RunState(run.state)


def stuck(claim: Claim, reason: Attention, sentence: str, snap: Snapshot | None = None) -> RunState:
    """Put the run before a person; `sentence` says why it is stuck."""
    spec = WaitSpec(WaitKind.ATTENTION, reason.value, detail={"sentence": sentence})
    return suspend(claim, [spec], snap)


def _wait(run: Run, reason: object) -> Wait:
    if isinstance(reason, Wait):
        reason.refresh_from_db()
        return reason
    assert isinstance(reason, WaitSpec)
    if reason.kind is WaitKind.ATTENTION:
        return waits.open_attention(
            run, Attention(reason.name), reason.detail["sentence"], effect=reason.effect
        )
    wait = waits.open_wait(run, reason)
    signal = waits.waiting_signal(run, reason.name) if reason.kind is WaitKind.EVENT else None
    if signal is not None:
        waits.consume(run, wait, signal)
        wait.refresh_from_db()
    return wait


def _rest(run: Run, *, answered: bool) -> None:
    if run.state in ENDING:
        Run.objects.filter(pk=run.pk).update(
            lease_until=None, worker="", due_at=Clock() if answered else None
        )
    elif answered:
        move_run(run, RunState.QUEUED)
    else:
        move_run(run, RunState.SUSPENDED)
    if answered:
        wakeup.announce(run.ref)
