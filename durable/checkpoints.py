"""Checkpoints: what a worker on an empty machine needs to go on, read in one row, written in one statement.

A checkpoint names the version that it follows and the conversation's length, exactly. A large working state
that has not changed is not stored again, and messages are stored once, so storage grows with the run and not
with its square.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import IntegrityError

from durable.beats import inside, stating
from durable.errors import BudgetExhausted, LeaseLost, Stopping
from durable.models import Budget, Checkpoint, Run
from durable.models.rows import made
from durable.sql import answer
from durable.states import ENDING, CheckpointKind
from durable.transitions import Bill, Claim
from durable.transitions.hot import CHECKPOINT, CHECKPOINT_AND_BILL
from durable.transitions.lives import LOAD, WRITE


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
        """Return the state for one execution of a step: what a failed one changed is gone with it.

        From the text that is stored, where that is up to date: so a step finds what a worker after a crash would find.
        """
        if self.unwritten:
            return copy.deepcopy(self.state)
        state: dict[str, Any] = json.loads(self.stored)
        return state


@dataclass(frozen=True, slots=True)
class Saved:
    """What the database answered to a checkpoint: an operator's hold, and budget that is spent."""

    held: bool
    deadline_over: bool
    steps_over: bool


@dataclass(frozen=True, slots=True)
class Loaded:
    """A run as a worker takes it up: with its budget, its newest checkpoint, and whether its deadline is over."""

    run: Run
    checkpoint: Checkpoint | None
    deadline_over: bool

    def snapshot(self) -> Snapshot:
        """Return the progress. Raises Checkpoint.DoesNotExist."""
        if self.checkpoint is None:
            raise Checkpoint.DoesNotExist(f"checkpoint {self.run.version} of {self.run.ref} is missing")
        return snapshot(self.checkpoint)


def take_up(claim: Claim) -> Loaded:
    """Read what the worker of a run needs to go on, in one statement."""
    row = answer(LOAD, {"run": claim.run_id})
    assert row is not None
    over, kin, again, *rest, older = row
    run, budget = made(Run, rest[:_RUN]), made(Budget, rest[_RUN:_BUDGET])
    run.budget = budget
    vars(run).update(has_kin=kin, may_go_again=again)
    newest = None if rest[_BUDGET] is None else made(Checkpoint, rest[_BUDGET:])
    if newest is not None and older is not None:
        newest.state = json.loads(older)
    return Loaded(run, newest, over)


#: Checkpoints that are named at either end where they are too many to name.
_SIDE = 3
#: Where the columns of the run and of the budget end in what `LOAD` answers.
_RUN = len(Run._meta.concrete_fields)
_BUDGET = _RUN + len(Budget._meta.concrete_fields)


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
    """Move the progress past its step, in memory. What the step left behind has been checked (`Agent.check_result`)."""
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
    values = claim.token | {"version": claim.version, "commit": "on" if sync else "off"}
    values |= columns(snap, CheckpointKind.STEP, snap.done) | Bill.values(claim.unbilled)
    with paid(snap), stating("checkpoint"):
        row = answer(CHECKPOINT if claim.unbilled is None else CHECKPOINT_AND_BILL, values)
    if row is None:
        if Run.objects.get(pk=claim.run_id).state in ENDING:
            raise Stopping(f"{claim.run_ref} is to end")
        raise LeaseLost(f"attempt {claim.attempt} no longer holds {claim.run_ref}; checkpoint refused")
    claim.version, held, deadline_over, steps_over = row
    claim.unbilled = None
    snap.message_count += len(snap.said)
    snap.said, snap.unwritten = [], 0
    if values["state"] is not None:
        snap.stored, snap.state_version = values["state"], claim.version
    return Saved(held, deadline_over, steps_over)


def columns(snap: Snapshot, kind: CheckpointKind, stood: tuple[str, int]) -> dict[str, Any]:
    """Return what a statement that writes a checkpoint takes of the progress, behind the step and visit in `stood`."""
    dump = _dump(snap.state)
    same = dump == snap.stored  # then the stored one is still true, and is not stored again
    first_no = snap.message_count + 1
    count = snap.message_count + len(snap.said)
    return {
        "steps": snap.unwritten,
        "kind": kind.value,
        "step": stood[0],
        "visit": stood[1],
        "next_step": snap.step,
        "next_visit": snap.visit,
        "state": None if same else dump,
        "state_version": snap.state_version if same else None,
        "progress": json.dumps(snap.progress),
        "message_nos": list(range(first_no, count + 1)),
        "roles": [m.role for m in snap.said],
        "contents": [json.dumps(m.content) for m in snap.said],
        "message_count": count,
        "compaction_base": snap.compaction_base,
    }


@contextmanager
def paid(snap: Snapshot) -> Iterator[None]:
    """A block that writes a checkpoint. Raises BudgetExhausted where its count of steps is refused: the work since the
    last one is not paid for, so it is not kept.
    """
    try:
        yield
    except IntegrityError as error:
        if "budget_steps_within" not in str(error):
            raise
        snap.refused = True
        raise BudgetExhausted("steps", "the steps of its budget are used up") from error


def write(run: Run, snap: Snapshot, kind: CheckpointKind, *, attempt: int) -> None:
    """Write a checkpoint of a locked run in the caller's transaction, for an operator's act. The run's row follows.

    Messages and counts of steps not yet written go with it. Raises BudgetExhausted; then the caller's transaction must
    not commit.
    """
    inside("a checkpoint is to be written")
    with paid(snap):
        row = answer(WRITE, {"run": run.pk, "attempt": attempt} | columns(snap, kind, (run.step, run.visit)))
    assert row is not None
    run.refresh_from_db()


_dump = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def kept(run: Run) -> str:
    """The numbers of the checkpoints that a run keeps, for people: all of a few, else the oldest and the newest."""
    versions = Checkpoint.objects.filter(run=run).order_by("version").values_list("version", flat=True)
    told = [str(version) for version in versions]
    if not told:
        return "none"
    return ", ".join(told if len(told) <= 2 * _SIDE else [*told[:_SIDE], "…", *told[-_SIDE:]])
