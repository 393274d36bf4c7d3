"""Drives one claimed run until it completes, fails, suspends, or the claim is lost.

The loop is short because everything hard is elsewhere: a step is executed, its checkpoint written in one
statement, and the answer of that statement says whether the next one may begin. Whatever goes wrong ends in
one of five ways: the step is retried, the run waits, a person is asked, the worker is to end and hands the run back,
or the attempt is given up and somebody else's claim goes on from the database.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import InterfaceError, OperationalError, connection

from durable import checkpoints, claims, draining, endings, frames, frozen, plan, stepping, vault, wakeup
from durable.checkpoints import Loaded, Saved, Snapshot
from durable.claims import beating
from durable.context import GiveUp, RunContext
from durable.errors import (
    BudgetExhausted,
    HandingBack,
    Incompatible,
    LeaseLost,
    Stopping,
    Suspension,
    UnknownAgent,
)
from durable.models import Run
from durable.plan import Agent
from durable.states import ENDING, Attention, Durability
from durable.suspending import hand_back, stuck, suspend
from durable.transitions import Claim

log = logging.getLogger(__name__)


def drive(run_ref: str) -> bool:
    """Claim a run and take it as far as it goes. False where there was nothing to claim, no database, or neither code
    nor key to drive it with: a worker whose agents can't be imported, or that can read nothing of what is sealed, takes
    no run from those that can; one that is to end passes the hint on.
    """
    if draining.on():
        wakeup.tell(run_ref)
        return False
    try:
        plan.agents()
    except UnknownAgent as error:
        log.error("nothing is driven: %s", error)
        return False
    try:
        vault.prove()
        claim = claims.claim(run_ref)
    except vault.WrongKey as error:
        log.error("nothing is driven: %s", error)
        return False
    except claims.Unopened as error:
        unopened = str(error)
        _holding(error.claim, lambda claim: _undrivable(claim, unopened))
        return True
    except (OperationalError, InterfaceError) as error:
        log.warning("%s is not claimed, the database is away: %s", run_ref, type(error).__name__)
        connection.close()
        return False
    if claim is None:
        return False
    _holding(claim, _drive)
    return True


def _holding(claim: Claim, work: Callable[[Claim], object]) -> None:
    """Keep a claim alive while `work` goes on, and give it up where it, or the database, is lost."""
    try:
        with beating(claim):
            work(claim)
    except LeaseLost as error:
        log.warning("attempt %s gives %s up: %s", claim.attempt, claim.run_ref, error)
        connection.close_if_unusable_or_obsolete()
    except (OperationalError, InterfaceError) as error:
        log.warning(
            "attempt %s gives %s up, the database is away: %s",
            claim.attempt,
            claim.run_ref,
            type(error).__name__,
        )
        connection.close()


@dataclass(slots=True)
class _Driven:
    """A claimed run on its way forward, and the progress that it has made."""

    claim: Claim
    run: Run
    loaded: Loaded
    snap: Snapshot | None = None


def _drive(claim: Claim) -> None:
    loaded = checkpoints.take_up(claim)
    driven = _Driven(claim, loaded.run, loaded)
    try:
        try:
            _go(driven)
        except HandingBack as asked:
            log.info("%s", asked)
            _hand_back(driven)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        _puzzled(claim, error)


def _go(driven: _Driven) -> None:
    """Take the run wherever it is on its way to. Raises HandingBack where this worker is to end first."""
    if driven.run.state in ENDING:
        _end(driven.claim, driven.run)
        return
    try:
        _forward(driven)
    except Stopping as stopping:
        _turn(driven, stopping)


def _hand_back(driven: _Driven) -> None:
    """Let another worker go on. Steps that the budget has no room for are not kept: that one will find them so."""
    try:
        hand_back(driven.claim, driven.snap)
    except BudgetExhausted:
        hand_back(driven.claim, None)


def _puzzled(claim: Claim, error: Exception) -> None:
    """Put a run to rest that the engine could not drive: else it would be claimed, and lost, again and again.

    The class and the place alone are told: the words may quote what is sealed elsewhere.
    """
    what = f"{type(error).__name__} ({frames.last(error)})"
    _undrivable(claim, f"it could not be driven any further: {what}; retry it once that is mended")


def _undrivable(claim: Claim, sentence: str) -> None:
    log.error("attempt %s puts %s before a person: %s", claim.attempt, claim.run_ref, sentence)
    stuck(claim, Attention.CRASH_LOOP, sentence, ending=True)


def _forward(driven: _Driven) -> None:
    """Take the run forward. Raises Stopping where something from outside stands in its way."""
    claim, run = driven.claim, driven.run
    try:
        if run.held:
            raise Stopping("held")
        agent = plan.get(run.agent)
        driven.snap = snap = driven.loaded.snapshot()
        agent.check_stored(run.input, snap.state)
        stepping.check_crashes(run, agent.at(snap.step))
        stepping.check_limits(run, deadline_over=driven.loaded.deadline_over)
        _billed(driven, agent, snap)
    except Suspension as suspension:
        _rest(driven, suspension.waits)
    except BudgetExhausted as error:
        _rest(driven, stepping.spent(error.limit, str(error)).waits)
    except UnknownAgent as error:
        stuck(claim, Attention.CODE_MISSING, f"{error.rule}, restart the workers, then resume the run")
    except Incompatible as error:
        stuck(claim, Attention.INCOMPATIBLE, str(error))


def _rest(driven: _Driven, reasons: Sequence[object]) -> None:
    """Suspend. Steps that the budget has no room for are not kept: they are executed again, if it ever has."""
    try:
        suspend(driven.claim, reasons, driven.snap)
    except BudgetExhausted as error:
        suspend(driven.claim, stepping.spent(error.limit, str(error)).waits, None)


def _turn(driven: _Driven, stopping: Stopping) -> None:
    """Something stopped the run from outside: a cancel, a hold, or a stop order. Turn to that."""
    run = Run.objects.get(pk=driven.claim.run_id)
    if run.state not in ENDING:
        try:
            _rest(driven, stepping.stops(run, stopping))
            return
        except Stopping:
            run.refresh_from_db()
    _end(driven.claim, run)


def _end(claim: Claim, run: Run) -> None:
    try:
        endings.advance(claim, run)
    except Suspension as suspension:
        suspend(claim, suspension.waits, None, ending=True)


def _billed(driven: _Driven, agent: type[Agent], snap: Snapshot) -> None:
    """Execute steps; however that ends, what a model has answered goes on record before anything else is made of it."""
    try:
        _steps(driven, agent, snap)
    except LeaseLost:
        raise
    except (Exception, Suspension, Stopping, HandingBack):
        frozen.bill(driven.claim)
        raise


def _steps(driven: _Driven, agent: type[Agent], snap: Snapshot) -> None:
    """Execute steps until the run ends; what ends it otherwise is raised."""
    claim, run = driven.claim, driven.run
    body = agent()
    again = run.attempt > 1 or run.tries > 0
    executed = 0
    while True:
        draining.check(run.ref)
        step = agent.at(snap.step)
        first = not again and (run.durability != Durability.EXIT or run.attempt == 1)
        context = RunContext(claim, run, snap, snap.step, step.facts.timeout, first=first)
        try:
            with claim.within(step.facts.timeout.total_seconds()):
                following = stepping.execute(step, body, context)
            agent.check_result(context.state, context.result)
        except GiveUp as words:
            frozen.bill(claim)
            stepping.give_up(claim, snap, str(words))
            return
        except Exception as error:
            frozen.bill(claim)
            log.warning(
                "attempt %s: step %s of %s: %s", claim.attempt, snap.step, run.ref, frames.trail(error)
            )
            stepping.retry(claim, step, snap, error, frames.authors(error))
            return
        stepping.check_all_asked(context, claim, again=again)
        again = False
        if following is None:
            frozen.bill(claim)
            stepping.complete(claim, snap, context)
            return
        checkpoints.advance(snap, _name(agent, following), context.state, context.said)
        executed += 1
        if _must_write(run, claim, context, executed):
            # In `async` mode the next intent, or the end, takes it along; until then the ledger answers what it did.
            sync = run.durability != Durability.ASYNC
            _go_on(checkpoints.save(claim, snap, sync=sync))


def _must_write(run: Run, claim: Claim, context: RunContext, executed: int) -> bool:
    """Whether this step's end is written now: always, but in `exit` mode after an effect and at its limits alone."""
    if run.durability != Durability.EXIT or context.acted or claim.wanted:
        return True
    limit = run.budget.steps_limit
    return limit is not None and run.budget.steps_used + executed >= limit


def _go_on(saved: Saved) -> None:
    """Whether the next step may begin."""
    if saved.held:
        raise Stopping("held")
    if saved.deadline_over:
        raise stepping.spent("deadline", stepping.DEADLINE_OVER)
    if saved.steps_over:
        raise stepping.spent("steps", stepping.STEPS_USED)


def _name(agent: type[Agent], following: Callable[..., Any]) -> str:
    name = getattr(following, "__name__", str(following))
    if name not in agent.steps:
        raise Incompatible(f"{agent.name} goes on to {name}, which is no step of it")
    return name
