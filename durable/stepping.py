"""One step: executing it within its time limit, and what follows when it fails, ends wrongly, or completes the run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from durable import checkpoints, claims, faults, journal, waits
from durable.checkpoints import Snapshot
from durable.context import RunContext
from durable.digest import plain
from durable.errors import StepTimeout, Stopping, Suspension
from durable.journal import ENGINE
from durable.models import Budget, Effect, Run
from durable.models.fields import Clock
from durable.plan import Step
from durable.states import OPEN, AttemptEnd, Attention, CheckpointKind, EventKind, RunState, WaitKind
from durable.suspending import stuck
from durable.transitions import Claim, hold_claim, move_run
from durable.waits import OPERATOR, WaitSpec

_LONGEST_BACKOFF = timedelta(minutes=5)


def execute(step: Step, body: object, context: RunContext) -> Any:
    """Execute a step from its start. Returns what it returned: the following step, or None. Raises StepTimeout."""
    with _time_limit(step):
        return step.function(body, context)


@contextmanager
def _time_limit(step: Step) -> Iterator[None]:
    """Interrupt a step that runs too long. Signals reach the main thread only; elsewhere each call of the run
    object checks.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(_signal: int, _frame: object) -> None:
        raise StepTimeout(f"step {step.name} ran past its limit of {step.facts.timeout}")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, step.facts.timeout.total_seconds())
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check_crashes(run: Run, step: Step) -> None:
    """Put a run that kills its workers before a person. Crashes and failures of one step count together."""
    if run.crashes and run.tries + run.crashes > step.facts.retries:
        sentence = f"step {run.step} has taken {run.crashes} workers down with it; it is not executed again by itself"
        raise Suspension(attention(Attention.CRASH_LOOP, sentence))


def check_limits(run: Run) -> None:
    """Refuse to begin where the budget's steps or deadline are over."""
    if Budget.objects.filter(pk=run.budget_id, deadline__lte=Clock()).exists():
        raise spent("deadline", "its deadline is over; no further step starts")
    if run.budget.steps_limit is not None and run.budget.steps_used >= run.budget.steps_limit:
        raise spent("steps", "the steps of its budget are used up")


def spent(limit: str, sentence: str) -> Suspension:
    """Return the suspension of a run whose budget is spent."""
    return Suspension(attention(Attention.BUDGET, sentence, limit=limit))


def attention(reason: Attention, sentence: str, **detail: Any) -> WaitSpec:
    """Return the wait of a run that a person must look at."""
    return WaitSpec(
        WaitKind.ATTENTION, reason.value, waits_for=OPERATOR, detail={"sentence": sentence, **detail}
    )


def stops(run: Run, stopping: Stopping) -> list[object]:
    """Return what stops a run from outside: the hold that is open already, or a wait for the stop order to be
    lifted.
    """
    if stopping.stop is None:
        return list(waits.open_waits(run, WaitKind.HOLD))
    return [WaitSpec(WaitKind.HOLD, str(stopping), waits_for=OPERATOR, detail={"stop": stopping.stop})]


def retry(claim: Claim, step: Step, snap: Snapshot, error: Exception, place: str) -> None:
    """Count a failed execution; queue the next one after a pause, or put the run before a person when all are spent."""
    run = Run.objects.get(pk=claim.run_id)
    sentence = f"step {snap.step} failed: {type(error).__name__}: {error}"[:1000] + (
        f" ({place})" if place else ""
    )
    if run.tries + run.crashes >= step.facts.retries:
        stuck(claim, Attention.RETRIES, sentence, snap)
        return
    later = min(step.facts.backoff * 2**run.tries, _LONGEST_BACKOFF)
    with transaction.atomic(durable=True):
        run = hold_claim(claim)
        if run.state == RunState.RUNNING:
            claims.let_go(run, claim.attempt, AttemptEnd.RETRYING)
            move_run(run, RunState.QUEUED, tries=run.tries + 1, error=sentence, due_at=Clock() + later)
        else:
            Run.objects.filter(pk=run.pk).update(lease_until=None, worker="", due_at=Clock())


def check_all_asked(context: RunContext, claim: Claim, *, again: bool) -> None:
    """Stop a step that was executed again and did not ask for an effect that it had recorded: a person must look."""
    if not again:
        return
    place = {"run_id": claim.run_id, "step": context.step, "visit": context.visit, "undo_of": None}
    left = Effect.objects.filter(**place, ordinal__gt=context.effects_asked).order_by("ordinal").first()
    if left is not None:
        sentence = (
            f"step {context.step} ended without asking again for {left.key} ({left.tool}, {left.state}), "
            "which it had recorded before"
        )
        raise Suspension(attention(Attention.NOT_ASKED_AGAIN, sentence))


def give_up(claim: Claim, sentence: str) -> None:
    """Turn the run towards failure; whatever is open gets settled first."""
    with transaction.atomic(durable=True):
        run = hold_claim(claim)
        claims.let_go(run, claim.attempt, AttemptEnd.ENDED)
        move_run(run, RunState.FAILING, error=sentence, due_at=Clock(), lease_until=None)
        waits.wake(run)


def complete(claim: Claim, snap: Snapshot, context: RunContext) -> None:
    """End a run whose last step is done: final checkpoint, result and event in one commit."""
    run = Run.objects.get(pk=claim.run_id)
    left = Effect.objects.filter(run=run, state__in=[s.value for s in OPEN]).first()
    if left is not None:
        raise Suspension(
            attention(
                Attention.NOT_ASKED_AGAIN, f"{left.key} is still {left.state}; the run can't end over it"
            )
        )
    with transaction.atomic(durable=True):
        run = hold_claim(claim)
        checkpoints.advance(snap, "", context.state, context.said)
        Budget.objects.filter(pk=run.budget_id).update(steps_used=F("steps_used") + snap.unwritten)
        checkpoints.write(run, snap, CheckpointKind.END, attempt=claim.attempt)
        waits.withdraw_all(run, by=ENGINE)
        journal.record(run, EventKind.COMPLETED, actor=claim.actor, body={"attempt": claim.attempt})
        claims.let_go(run, claim.attempt, AttemptEnd.ENDED)
        move_run(run, RunState.COMPLETED, result=plain(context.result, "result"))
        faults.point("end.before_commit")
    faults.point("end.after_commit")
