"""Drives one claimed run until it completes, fails, suspends, or the claim is lost.

The loop is short because everything hard is elsewhere: a step is executed, its checkpoint written in one
statement, and the answer of that statement says whether the next one may begin. Whatever goes wrong ends in
one of four ways: the step is retried, the run waits, a person is asked, or the attempt is given up and
somebody else's claim goes on from the database.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError, IntegrityError, InterfaceError, connection

from durable import checkpoints, claims, endings, plan, stepping
from durable.checkpoints import Saved, Snapshot
from durable.claims import beating
from durable.context import GiveUp, RunContext
from durable.errors import Incompatible, LeaseLost, Stopping, Suspension, UnknownAgent
from durable.models import Run
from durable.states import ENDING, Attention, Durability
from durable.suspending import stuck, suspend
from durable.transitions import Claim

log = logging.getLogger(__name__)


def drive(run_ref: str) -> bool:
    """Claim a run and take it as far as it goes. False where there was nothing to claim."""
    claim = claims.claim(run_ref)
    if claim is None:
        return False
    try:
        with beating(claim):
            _drive(claim)
    except LeaseLost as error:
        log.warning("attempt %s gives %s up: %s", claim.attempt, run_ref, error)
    except (DatabaseError, InterfaceError) as error:
        log.warning(
            "attempt %s gives %s up, the database is away: %s", claim.attempt, run_ref, type(error).__name__
        )
        connection.close()
    return True


def _drive(claim: Claim) -> None:
    run = Run.objects.select_related("budget").get(pk=claim.run_id)
    snap: Snapshot | None = None
    try:
        if run.state in ENDING:
            endings.advance(claim, run)
            return
        if run.held:
            raise Stopping("held")
        agent = plan.get(run.agent)
        snap = checkpoints.load(run)
        agent.check_state(snap.state)
        stepping.check_crashes(run, agent.at(run.step))
        _steps(claim, run, agent, snap)
    except Suspension as suspension:
        suspend(claim, suspension.waits, snap)
    except Stopping as stopping:
        _turn(claim, snap, stopping)
    except UnknownAgent as error:
        stuck(claim, Attention.CODE_MISSING, str(error))
    except Incompatible as error:
        stuck(claim, Attention.INCOMPATIBLE, str(error))


def _turn(claim: Claim, snap: Snapshot | None, stopping: Stopping) -> None:
    """Something stopped the run from outside: a cancel, a hold, or a stop order. Turn to that."""
    run = Run.objects.get(pk=claim.run_id)
    if run.state in ENDING:
        try:
            endings.advance(claim, run)
        except Suspension as suspension:
            suspend(claim, suspension.waits, None)
        return
    suspend(claim, stepping.stops(run, stopping), snap)


def _steps(claim: Claim, run: Run, agent: type[plan.Agent], snap: Snapshot) -> None:
    """Execute steps until the run ends; what ends it otherwise is raised."""
    mode = Durability(run.durability)
    body = agent()
    again = run.attempt > 1 or run.tries > 0
    stepping.check_limits(run)
    while True:
        step = agent.at(snap.step)
        context = RunContext(claim, run, snap, snap.step, step.facts.timeout)
        try:
            following = stepping.execute(step, body, context)
        except Exception as error:
            if isinstance(error, GiveUp):
                stepping.give_up(claim, str(error))
                return
            stepping.retry(claim, step, snap, error, _place(error))
            return
        stepping.check_all_asked(context, claim, again=again)
        again = False
        if following is None:
            stepping.complete(claim, snap, context)
            return
        done = checkpoints.advance(snap, _name(agent, following), context.state, context.said)
        if mode is Durability.EXIT and not context.acted:
            continue
        _go_on(_save(claim, snap, done, sync=mode is Durability.SYNC or context.acted))


def _save(claim: Claim, snap: Snapshot, done: tuple[str, int], *, sync: bool) -> Saved:
    try:
        return checkpoints.save(claim, snap, done, sync=sync)
    except IntegrityError as error:
        if "budget_steps_within" not in str(error):
            raise
        raise stepping.spent("steps", "the steps of its budget are used up") from error
    except LeaseLost:
        if Run.objects.get(pk=claim.run_id).state in ENDING:
            raise Stopping("the run is to end") from None
        raise


def _go_on(saved: Saved) -> None:
    """Whether the next step may begin."""
    if saved.held:
        raise Stopping("held")
    if saved.deadline_over:
        raise stepping.spent("deadline", "its deadline is over; no further step starts")
    if saved.steps_over:
        raise stepping.spent("steps", "the steps of its budget are used up")


def _name(agent: type[plan.Agent], following: Callable[..., Any]) -> str:
    name = getattr(following, "__name__", str(following))
    if name not in agent.steps:
        raise Incompatible(f"{agent.name} goes on to {name}, which is no step of it")
    return name


def _place(error: Exception) -> str:
    """Where in the author's code an error arose: the last frame, without any value."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].name}, line {frames[-1].lineno}" if frames else ""
