"""Checkpoints: what a worker on an empty machine needs to go on, read in one row, written in one statement.

A checkpoint names the version that it follows and the conversation's length, exactly. A large working state
that has not changed is not stored again, and messages are stored once, so storage grows with the run and not
with its square.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import IntegrityError, connection
from django.db.models import F

from durable.beats import stating
from durable.errors import BudgetExhausted, LeaseLost, Stopping
from durable.models import Budget, Checkpoint, Message, Run
from durable.states import ENDING, CheckpointKind
from durable.text import check_json
from durable.transitions import Bill, Claim
from durable.transitions.hot import CHECKPOINT, CHECKPOINT_AND_BILL


@dataclass(frozen=True, slots=True)
class Said:
    """A message that is about to join the conversation."""

    role: str
    content: Any


@dataclass(slots=True)
class Snapshot:
    """A run's progress as its worker holds it: loaded from the newest checkpoint, moved on with each one written."""

    step: str
    visit: int
    state: dict[str, Any]
    stored: str
    state_version: int
    progress: dict[str, int]
    branch_id: int
    message_count: int
    compaction_base: int = 0
    unwritten: int = 0  # steps executed since the last checkpoint that was written (`exit` mode)
    said: list[Said] = field(default_factory=list)
    done: tuple[str, int] = ("", 1)  # the step and visit that ended last
    refused: bool = False  # the budget has no room for what is unwritten: it is executed again, if ever

    def copied(self) -> Snapshot:
        """Return a snapshot that can be moved on without moving this one."""
        return replace(self, progress=dict(self.progress), said=list(self.said))

    def working_copy(self) -> dict[str, Any]:
        """Return the state for one execution of a step: what a failed one changed is gone with it."""
        return copy.deepcopy(self.state)


@dataclass(frozen=True, slots=True)
class Saved:
    """What the database answered to a checkpoint: an operator's hold, and budget that is spent."""

    held: bool
    deadline_over: bool
    steps_over: bool


def load(run: Run) -> Snapshot:
    """Load the newest checkpoint: one row, and the row that holds its state where that is older."""
    newest = Checkpoint.objects.get(run_id=run.pk, version=run.version)
    return snapshot(newest)


def snapshot(checkpoint: Checkpoint) -> Snapshot:
    """Return the progress that a checkpoint holds."""
    state = checkpoint.state
    if state is None:
        state = Checkpoint.objects.values_list("state", flat=True).get(
            run_id=checkpoint.run_id, version=checkpoint.state_version
        )
    if state is None:
        raise LookupError(f"checkpoint {checkpoint.version} of run {checkpoint.run_id} holds no state")
    return Snapshot(
        step=checkpoint.next_step,
        visit=checkpoint.next_visit,
        state=state,
        stored=_dump(state),
        state_version=checkpoint.state_version,
        progress=dict(checkpoint.progress),
        branch_id=checkpoint.branch_id,
        message_count=checkpoint.message_count,
        compaction_base=checkpoint.compaction_base,
    )


def advance(snap: Snapshot, next_step: str, state: dict[str, Any], said: list[Said]) -> None:
    """Move the progress past its step, in memory. Raises Invalid for a state that is no plain JSON."""
    check_json(state, "state")
    snap.done = (snap.step, snap.visit)
    snap.progress[snap.step] = snap.visit
    snap.state = state
    snap.said += said
    snap.unwritten += 1
    snap.step = next_step
    snap.visit = snap.progress.get(next_step, 0) + 1


def save(claim: Claim, snap: Snapshot, *, sync: bool) -> Saved:
    """Write the progress after a step: fence, checkpoint, messages and budget in one statement and one commit.

    Asynchronous commits are written at once and only don't wait for the disk. Raises LeaseLost where the token is
    stale, Stopping where the run is to end, BudgetExhausted where the steps are used up; then nothing is written.
    """
    dump = _dump(snap.state)
    same = dump == snap.stored
    row = _execute(claim, _values(claim, snap, None if same else dump, sync=sync), snap)
    if row is None:
        if Run.objects.get(pk=claim.run_id).state in ENDING:
            raise Stopping(f"{claim.run_ref} is to end")
        raise LeaseLost(f"attempt {claim.attempt} no longer holds {claim.run_ref}; checkpoint refused")
    claim.version, held, deadline_over, steps_over = row
    snap.message_count += len(snap.said)
    snap.said, snap.unwritten = [], 0
    if not same:
        snap.stored, snap.state_version = dump, claim.version
    return Saved(held, deadline_over, steps_over)


def _values(claim: Claim, snap: Snapshot, state: str | None, *, sync: bool) -> dict[str, Any]:
    """What the checkpoint's statement takes; `state` is None where the stored one is still true."""
    first_no = snap.message_count + 1
    count = snap.message_count + len(snap.said)
    return {
        "commit": "on" if sync else "off",
        "steps": snap.unwritten,
        "run": claim.run_id,
        "attempt": claim.attempt,
        "nonce": claim.nonce,
        "version": claim.version,
        "lease": claim.lease,
        "kind": CheckpointKind.STEP.value,
        "step": snap.done[0],
        "visit": snap.done[1],
        "next_step": snap.step,
        "next_visit": snap.visit,
        "state": state,
        "state_version": snap.state_version if state is None else None,
        "progress": json.dumps(snap.progress),
        "message_nos": list(range(first_no, count + 1)),
        "roles": [m.role for m in snap.said],
        "contents": [json.dumps(m.content) for m in snap.said],
        "message_count": count,
        "compaction_base": snap.compaction_base,
    }


def _execute(claim: Claim, values: dict[str, Any], snap: Snapshot) -> tuple[Any, ...] | None:
    """Execute, with a model's answer that waits to be on record."""
    sql = CHECKPOINT if claim.unbilled is None else CHECKPOINT_AND_BILL
    try:
        with stating("checkpoint"), connection.cursor() as cursor:
            cursor.execute(sql, values | Bill.values(claim.unbilled))
            row: tuple[Any, ...] | None = cursor.fetchone()
    except IntegrityError as error:
        raise _steps_spent(error, snap) from error
    if row is not None:
        claim.unbilled = None
    return row


def _steps_spent(error: IntegrityError, snap: Snapshot) -> Exception:
    """What a refused count of steps means: the work since the last checkpoint is not paid for, so it is not kept."""
    if "budget_steps_within" not in str(error):
        return error
    snap.refused = True
    return BudgetExhausted("steps", "the steps of its budget are used up")


def write(run: Run, snap: Snapshot, kind: CheckpointKind, *, attempt: int) -> None:
    """Write a checkpoint of a locked run in the caller's transaction: at a suspension, an end, or an operator's edit.

    Messages and counts of steps not yet written go with it. The run's row follows. Raises BudgetExhausted; then the
    caller's transaction must not commit.
    """
    assert connection.in_atomic_block
    _count_steps(run, snap)
    dump = _dump(snap.state)
    same = dump == snap.stored
    version = run.version + 1
    step, visit = _stood(run, snap, kind)
    Message.objects.bulk_create(
        Message(branch_id=snap.branch_id, no=snap.message_count + place, role=said.role, content=said.content)
        for place, said in enumerate(snap.said, 1)
    )
    snap.message_count += len(snap.said)
    snap.said = []
    run.budget.refresh_from_db()
    Checkpoint.objects.create(
        run=run,
        version=version,
        kind=kind.value,
        step=step,
        visit=visit,
        next_step=snap.step,
        next_visit=snap.visit,
        attempt=attempt,
        state=None if same else snap.state,
        state_version=snap.state_version if same else version,
        progress=snap.progress,
        branch_id=snap.branch_id,
        message_count=snap.message_count,
        compaction_base=snap.compaction_base,
        budget={"steps": run.budget.steps_used, "tokens": run.budget.tokens_used},
    )
    if not same:
        snap.stored, snap.state_version = dump, version
    Run.objects.filter(pk=run.pk).update(
        version=version, step=snap.step, visit=snap.visit, message_count=snap.message_count
    )
    run.refresh_from_db()


def _stood(run: Run, snap: Snapshot, kind: CheckpointKind) -> tuple[str, int]:
    """Which step a checkpoint stands behind: the one that ended, was stopped, or was replaced by an operator."""
    if kind is CheckpointKind.END:
        return snap.done
    return (snap.step, snap.visit) if kind is CheckpointKind.SUSPEND else (run.step, run.visit)


def _count_steps(run: Run, snap: Snapshot) -> None:
    if not snap.unwritten:
        return
    try:
        Budget.objects.filter(pk=run.budget_id).update(steps_used=F("steps_used") + snap.unwritten)
    except IntegrityError as error:
        raise _steps_spent(error, snap) from error
    snap.unwritten = 0


def _dump(state: Any) -> str:
    return json.dumps(state, sort_keys=True, ensure_ascii=False)
