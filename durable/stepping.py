"""One step: executing it within its time limit, and what follows when it fails, ends wrongly, or completes the run."""

from __future__ import annotations

import json
import signal
import threading
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, connection

from durable import checkpoints, waits, wakeup
from durable.beats import stating
from durable.checkpoints import Snapshot
from durable.context import RunContext
from durable.digest import canonical, plain
from durable.errors import BudgetExhausted, StepTimeout, Stopping, Suspension, VendorRefused
from durable.journal import one_line
from durable.models import Effect, Run
from durable.plan import Step
from durable.sql import answer
from durable.states import ENDING, OPEN, AttemptEnd, Attention, CheckpointKind, EventKind, WaitKind
from durable.suspending import stuck
from durable.text import quoted
from durable.transitions import Claim, look
from durable.transitions.lives import END, FAIL, RETRY
from durable.waits import OPERATOR, WaitSpec

DEADLINE_OVER = "its deadline is over; no further step starts"
STEPS_USED = "the steps of its budget are used up"

_LONGEST_BACKOFF = timedelta(minutes=5)
_MOST_DOUBLINGS = 20
#: What is kept of the words with which a step gives its run up.
_LONGEST_SENTENCE = 1_000
#: What is kept of the words of a step's error: enough to find it, not a whole customer's record.
_LONGEST_WORDS = 300
#: Seconds after which the alarm of a step that swallowed it rings again.
_ALARM_AGAIN = 0.5


def execute(step: Step, body: object, context: RunContext) -> Any:
    """Execute a step from its start. Returns what it returned: the following step, or None. Raises StepTimeout.

    What the engine raised to end the execution is raised again here, if the step has swallowed it.
    """
    try:
        return _timed(step, body, context)
    except StepTimeout:
        # The author's code may have been cut off in the middle of a query of its own.
        connection.close()
        raise
    finally:
        if context.over is not None:
            raise context.over


def _timed(step: Step, body: object, context: RunContext) -> Any:
    """Interrupt a step that runs too long, but never inside the engine: an answer must reach the ledger.

    Signals reach the main thread only; in others each call of the run object checks. The alarm rings again and again,
    for code that swallows it.
    """
    if threading.current_thread() is not threading.main_thread():
        return step.function(body, context)
    on = True

    def ring(_signal: int, _frame: object) -> None:
        if on and not context.inside:
            raise StepTimeout(f"step {step.name} ran past its limit of {step.facts.timeout}")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, step.facts.timeout.total_seconds(), _ALARM_AGAIN)
    try:
        try:
            return step.function(body, context)
        finally:
            on = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check_crashes(run: Run, step: Step) -> None:
    """Put a run that kills its workers before a person. Crashes and failures of one step count together."""
    if run.crashes and run.tries + run.crashes > step.facts.retries:
        sentence = f"step {run.step} has taken {run.crashes} workers down with it; it is not executed again by itself"
        raise Suspension(attention(Attention.CRASH_LOOP, sentence))


def check_limits(run: Run, *, deadline_over: bool) -> None:
    """Refuse to begin where the budget's steps or deadline are over."""
    if deadline_over:
        raise spent("deadline", DEADLINE_OVER)
    if run.budget.steps_limit is not None and run.budget.steps_used >= run.budget.steps_limit:
        raise spent("steps", STEPS_USED)


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
    """Count a failed execution; queue the next one after a pause, or put the run before a person when all are spent.

    What a vendor has refused for good, a read that found nothing, say, it would refuse again: that is not repeated.
    Raises Stopping for a run that is to end: there nothing is executed again.
    """
    sentence = f"step {snap.step} failed: {_words_of(error)}{f' ({place})' if place else ''}"
    values: dict[str, Any] = {
        **claim.token,
        "how": AttemptEnd.RETRYING.value,
        "retries": 0 if isinstance(error, VendorRefused) else step.facts.retries,
        "backoff": step.facts.backoff,
        "doublings": _MOST_DOUBLINGS,
        "longest": _LONGEST_BACKOFF,
        "error": sentence,
    }
    with stating("retry"):
        put_off = answer(RETRY, values)
    if put_off is not None:
        return
    run = look(claim)
    if run.state in ENDING:
        raise Stopping(f"{run.ref} is {run.state}")
    stuck(claim, Attention.RETRIES, sentence)


def _words_of(error: Exception) -> str:
    """Type and message of a step's error, cut. A database's words quote whole rows: of those the class alone."""
    name = type(error).__name__
    if isinstance(error, DatabaseError):
        return name
    try:
        words = str(error)
    except Exception:
        return name  # the author's class can't say what it is
    return f"{name}: {quoted(words, _LONGEST_WORDS)}" if words else name


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


def give_up(claim: Claim, snap: Snapshot, words: str) -> None:
    """Turn the run towards failure; whatever is open gets settled first.

    Raises Stopping where it is to end already, or is held: a run that is held does not end over it.
    """
    if snap.unwritten:
        try:
            checkpoints.save(claim, snap, sync=False)
        except BudgetExhausted:
            snap.refused = True  # it fails from the checkpoint before
    sentence = f"step {snap.step} gave up: {quoted(words, _LONGEST_SENTENCE)}"
    with stating("failing"):
        turned = answer(FAIL, {**claim.token, "how": AttemptEnd.ENDED.value, "error": sentence})
    if turned is None:
        run = look(claim)
        raise Stopping(f"{run.ref} is {'held' if run.held else run.state}")
    wakeup.announce(claim.run_ref)


def complete(claim: Claim, snap: Snapshot, context: RunContext) -> None:
    """End a run whose last step is done: final checkpoint, result and event in one commit.

    Raises Stopping for a run that is held or to end, BudgetExhausted where its last step is one too many.
    """
    final = snap.copied()
    checkpoints.advance(final, "", context.state, context.said)
    result = plain(context.result, "result")
    values: dict[str, Any] = {
        **claim.token,
        "version": claim.version,
        "how": AttemptEnd.ENDED.value,
        "result": None if result is None else json.dumps(result),
        "event": EventKind.COMPLETED.value,
        "teller": one_line(claim.actor),
        "body": canonical({"attempt": claim.attempt}).decode(),
    }
    with checkpoints.paid(final), stating("end"):
        ended = answer(END, values | checkpoints.columns(final, CheckpointKind.END, final.done))
    if ended is None:
        raise _unended(claim)


def _unended(claim: Claim) -> BaseException:
    """Return why a run could not end: what its worker is to turn to instead. Raises LeaseLost."""
    run = look(claim)
    left = Effect.objects.filter(run=run, state__in=[state.value for state in OPEN]).first()
    if left is not None:
        sentence = f"{left.key} is still {left.state}; the run can't end over it"
        return Suspension(attention(Attention.NOT_ASKED_AGAIN, sentence))
    # A hold may be over by now: then nothing stops the run, and it is queued again at once.
    return Stopping(f"{run.ref} is to stop")
