"""What an operator may do to a run that does not go on by itself: retry, skip, edit its state, fork it.

None of these repeats an effect unasked. The ledger answers for what a visit of a step has done, whichever way the code
comes by again; a skip back begins a new visit, with keys of its own, and what an earlier one did is put before people.
Each may say how the run stood when the person saw it (`seen`, from `standing`), and raises Moved where it has changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q

from durable import answers, plan, runs, standing, vault, waits, wakeup
from durable.beats import committing
from durable.checkpoints import Snapshot, kept, load, snapshot, write
from durable.digest import canonical, digest
from durable.errors import Conflict, Incompatible, Invalid, NotFound
from durable.journal import record
from durable.models import Branch, Checkpoint, Effect, Message, Run, Wait
from durable.runs import check_actor, new_ref
from durable.states import (
    ENDED,
    ENDING,
    OPEN,
    UNSETTLED,
    CheckpointKind,
    EffectState,
    EventKind,
    RunState,
    WaitKind,
    WaitState,
)
from durable.text import check_json
from durable.transitions import close_wait, lock_effect, lock_run, move_run

_OPEN = [state.value for state in OPEN]
_UNSETTLED = [state.value for state in UNSETTLED]
#: In place of a fork's input: the one that its parent had. None is an input like any other.
KEPT: Final[Any] = object()


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a fork begins with, and which of it (`state`, `input`) is not its parent's."""

    state: dict[str, Any]
    input: Any
    replaced: tuple[str, ...]


def retry(run_ref: str, *, actor: str, reason: str, seen: str | None = None) -> None:
    """Execute the run's step again, keys and checkpoints kept: for a run that is stuck, or has failed.

    Raises Conflict for any other run, one that waits for nothing but a verdict among them. An effect in doubt stays so:
    the step stops at it again.
    """
    check_actor(actor, reason)
    with committing("command"):
        run = lock_run(run_ref)
        stuck = [w for w in waits.open_waits(run, WaitKind.ATTENTION) if w.effect_id is None]
        at_rest = run.state == RunState.SUSPENDED or (run.state in ENDING and run.lease_until is None)
        if run.state != RunState.FAILED and not (at_rest and stuck):
            raise Conflict(f"{run_ref} is {run.state} and not stuck; there is nothing to retry")
        if run.state == RunState.FAILED:
            if run.held:
                raise Conflict(f"{run_ref} is held; release it before it is retried")
            runs.refuse_erased(run)
            runs.refuse_beside_fork(run)
            _refuse_forgetful(run)
        standing.check(run, seen)
        _close(stuck, by=actor)
        told = {"step": run.step, "visit": run.visit, **runs.moved(run, tries=0, crashes=0)}
        record(run, EventKind.RETRIED, actor=actor, words=reason, body=told)
        Run.objects.filter(pk=run.pk).update(tries=0, crashes=0, error="")
        if run.state in ENDING:
            waits.wake(run)
        else:
            _queue(run)


def skip(run_ref: str, *, actor: str, reason: str, to: str | None = None, seen: str | None = None) -> None:
    """Leave the run's present step undone and go on at `to`, by default the next one of the plan.

    What the step had open and never sent is withdrawn. At a step that was visited before, what it did is asked about
    before it is done again. Raises Conflict while one of its effects is pending or in doubt, Invalid for a step that
    the agent does not have.
    """
    check_actor(actor, reason)
    with committing("command"):
        run = _at_rest(lock_run(run_ref))
        standing.check(run, seen)
        agent = plan.get(run.agent)
        target = to if to is not None else _next(agent, run.step)
        if target not in agent.steps:
            raise Invalid("to", f"{run.agent} has no step {target!r}; it has {', '.join(agent.steps)}")
        for effect in Effect.objects.filter(run=run, state__in=_OPEN).order_by("id"):
            answers.withdraw(
                run, lock_effect(run, effect.pk), actor=actor, words=f"step {run.step} is skipped: {reason}"
            )
        snap = load(run)
        told = {"step": run.step, "visit": run.visit, "to": target, **runs.moved(run, step=target)}
        record(run, EventKind.SKIPPED, actor=actor, words=reason, body=told)
        snap.progress[snap.step] = snap.visit
        snap.step, snap.visit = target, snap.progress.get(target, 0) + 1
        write(run, snap, CheckpointKind.SKIP, attempt=run.attempt)
        _close(waits.open_waits(run), by=actor)
        Run.objects.filter(pk=run.pk).update(tries=0, crashes=0, error="")
        _queue(run)


def edit_state(
    run_ref: str, state: dict[str, Any], *, actor: str, reason: str, seen: str | None = None
) -> None:
    """Replace the working state of a run at rest; the old one stays in its checkpoint.

    Raises Invalid for a state that its agent would refuse, Conflict for a run that is not at rest.
    """
    check_actor(actor, reason)
    _check_object(state)
    with committing("command"):
        run = _at_rest(lock_run(run_ref))
        standing.check(run, seen)
        _check_state(run, state)
        snap, before = load(run), run.version
        snap.state = state
        write(run, snap, CheckpointKind.EDIT, attempt=run.attempt)
        told = {"version": run.version, "before": {"version": before}, "after": {"version": run.version}}
        record(run, EventKind.STATE_EDITED, actor=actor, words=reason, body=told)


def fork(
    run_ref: str,
    version: int,
    *,
    actor: str,
    reason: str,
    state: dict[str, Any] | None = None,
    input: Any = KEPT,
    seen: str | None = None,
) -> Run:
    """Start a run from a kept checkpoint of a run that has ended or is held. Returns it, queued.

    It begins with the checkpoint's state, or with another `state`, and with its parent's input, or with another
    `input`, which the steps see that are executed from there on. It sees its parent's whole ledger and draws on what is
    left of its parent's budget. Raises Conflict while something of the parent is pending or in doubt, NotFound for a
    checkpoint that is not kept, Invalid for a state or an input that its agent would refuse.
    """
    check_actor(actor, reason)
    with committing("command"):
        parent = lock_run(run_ref)
        _may_fork(parent)
        runs.refuse_erased(parent)
        _refuse_forgetful(parent)
        checkpoint = Checkpoint.objects.filter(run=parent, version=version).first()
        if checkpoint is None:
            raise NotFound(f"{run_ref} keeps no checkpoint {version}; it keeps {kept(parent)}")
        if not checkpoint.next_step:
            raise Conflict(f"checkpoint {version} of {run_ref} is its end; fork an earlier one")
        standing.check(parent, seen)
        old = snapshot(checkpoint)
        begins = beginning(parent, old.state, state, input)
        run = _copy(parent, checkpoint, old, actor, begins)
        body = {"version": version, "fork": run.ref, **dict.fromkeys(begins.replaced, "replaced")}
        record(parent, EventKind.FORKED, actor=actor, words=reason, body=body)
        record(
            run,
            EventKind.STARTED,
            actor=actor,
            words=reason,
            body={"agent": run.agent, "input": run.input_digest, "parent": run_ref, "version": version},
        )
        wakeup.announce(run.ref)
    return run


def beginning(
    parent: Run, kept: dict[str, Any], state: dict[str, Any] | None = None, input: Any = KEPT
) -> Beginning:
    """Return what a fork would begin with: another state than the one that was `kept`, another input than the parent's.

    Raises Invalid, naming the field, for what the parent's agent would refuse.
    """
    replaced = []
    if state is not None:
        _check_object(state)
        _check_state(parent, state)
        if canonical(state) != canonical(kept):
            replaced.append("state")
    taken = parent.input
    if input is not KEPT:
        taken = plan.get(parent.agent).check_input(input)
        if canonical(taken) != canonical(parent.input):
            replaced.append("input")
    return Beginning(kept if state is None else state, taken, tuple(replaced))


def _check_object(state: object) -> None:
    check_json(state, "state")
    if not isinstance(state, dict):
        raise Invalid("state", "must be an object")


def _check_state(run: Run, state: dict[str, Any]) -> None:
    try:
        plan.get(run.agent).check_state(state)
    except Incompatible as error:
        raise Invalid("state", str(error)) from None


def _may_fork(parent: Run) -> None:
    if parent.state not in ENDED and not (parent.held and parent.lease_until is None):
        raise Conflict(f"{parent.ref} is {parent.state}; hold it or let it end before forking it")
    if parent.recovery is not None and parent.state != RunState.COMPLETED:
        # What it did at places that it has not come to again stands in no ledger that a fork could see.
        raise Conflict(f"{parent.ref} came out of a backup; it must have completed before it is forked")
    open_effect = Effect.objects.filter(run=parent, state__in=_UNSETTLED).first()
    if open_effect is not None:
        raise Conflict(f"{open_effect.key} is {open_effect.state}; settle it before forking {parent.ref}")


def _refuse_forgetful(run: Run) -> None:
    """Refuse to go on from a conversation that retention has taken."""
    said = run.message_count - (0 if run.branch is None else run.branch.base_count)
    if said > 0 and not Message.objects.filter(branch=run.branch_id).exists():
        raise Conflict(f"the conversation of {run.ref} has gone by the policy of retention; it can't go on")


def _copy(parent: Run, checkpoint: Checkpoint, old: Snapshot, actor: str, begins: Beginning) -> Run:
    branch = Branch.objects.create(parent_id=checkpoint.branch_id, base_count=checkpoint.message_count)
    run = Run.objects.create(
        ref=new_ref(),
        agent=parent.agent,
        input=begins.input,
        input_digest=digest({"agent": parent.agent, "input": begins.input}, "input")
        if "input" in begins.replaced
        else parent.input_digest,
        requester=actor,
        durability=parent.durability,
        budget_id=parent.budget_id,
        branch=branch,
        parent=parent,
        parent_version=checkpoint.version,
    )
    vault.create_key(run)
    snap = Snapshot(
        old.step,
        old.visit,
        begins.state,
        "",
        0,
        old.progress,
        branch.pk,
        old.message_count,
        old.compaction_base,
    )
    write(run, snap, CheckpointKind.FORK, attempt=0)
    return run


def _at_rest(run: Run) -> Run:
    """A run that nobody drives and that has not ended, with nothing pending or in doubt."""
    if run.state != RunState.SUSPENDED:
        raise Conflict(f"{run.ref} is {run.state}; hold it first")
    # As with every other act: what certainly did nothing (a 429, no connection) is taken back, and hinders nobody.
    left = Q(state=EffectState.IN_DOUBT.value) | Q(state__in=_UNSETTLED, open_sends__gt=0)
    left |= Q(state__in=_OPEN, forgotten_since__isnull=False)
    effect = Effect.objects.filter(left, run=run).first()
    if effect is not None:
        raise Conflict(f"{effect.key} is {effect.state}; it must be settled first")
    return run


def _next(agent: type[plan.Agent], step: str) -> str:
    names = list(agent.steps)
    here = agent.at(step).name
    place = names.index(here) + 1
    if place == len(names):
        raise Conflict(f"{step} is the last step of {agent.name}; name a step to go on at, or cancel the run")
    return names[place]


def _close(found: list[Wait], *, by: str) -> None:
    """Close what the act answers: neither a hold nor an alarm, which stay until somebody looks."""
    for wait in found:
        if wait.kind != WaitKind.HOLD and not waits.is_alarm(wait):
            close_wait(wait, WaitState.RESOLVED, by=by)


def _queue(run: Run) -> None:
    run.refresh_from_db()
    if run.held:
        return
    move_run(run, RunState.QUEUED, ended_at=None)
    wakeup.announce(run.ref)
