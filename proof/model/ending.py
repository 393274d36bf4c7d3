"""The way to an end, and the way back: what is open gets settled first, then what was applied is undone in reverse."""

from __future__ import annotations

from collections.abc import Iterator

from proof.model import ledger
from proof.model.case import Case
from proof.model.guards import Guard
from proof.model.ledger import idle, ready, who
from proof.model.reconcile import reconcile
from proof.model.world import (
    APPLIED,
    CANCELLED,
    COMPENSATED,
    COMPENSATING,
    DOUBT,
    FAILED,
    OPEN,
    PARTLY,
    REFUSED,
    Effect,
    Move,
    World,
)


def settle_and_end(world: World, case: Case, number: int) -> Iterator[Move]:
    """A cancelling run sends nothing more: it withdraws what never left, looks up what did, and then ends."""
    me, name = world.workers[number], who(world.workers[number], number)
    left = [one for one in world.effects if one.run == me.run and one.state in OPEN]
    if not left or case.off is Guard.NO_END_OVER_PENDING:
        run = world.runs[me.run]
        state = COMPENSATING if run.undo else CANCELLED
        ended = run._replace(state=state, lease="free", due=run.undo)
        yield f"{name} ends run {me.run + 1} as cancelled", idle(world.with_run(me.run, ended), number)
        return
    for effect in left:
        if effect.open == 0:
            yield f"{name} withdraws {effect.key}", ready(ledger.withdraw(world, case, effect), number)
            return
    pending = [one for one in left if one.state != DOUBT]
    for effect in pending:
        yield from reconcile(world, case, number, effect, may_send=False)
    if not pending:
        rest = world.runs[me.run]._replace(lease="free", due=False)
        yield f"{name} waits for what people say", idle(world.with_run(me.run, rest), number)


def next_to_undo(world: World, case: Case, run: int) -> Effect | None:
    """Return the effect to undo next: the one applied last, of those not undone. None when the way back is over."""
    mine = [one for one in world.effects if one.run == run and not one.undo]
    if case.on(Guard.UNDO_APPLIED):
        mine = [one for one in mine if one.state == APPLIED]
    if case.on(Guard.UNDO_REVERSE):
        mine.reverse()
    for effect in mine:
        undo = world.at(run, effect.place, True)
        if undo is None or undo.state == "withdrawn":
            return effect
        settled = undo.state in (APPLIED, FAILED, *REFUSED)
        if not settled and (case.on(Guard.UNDO_WAITS) or undo.state != DOUBT):
            return effect
    return None


def end_compensation(world: World, number: int) -> Move:
    """End the way back. What could not be undone is listed: the run is then partly compensated."""
    me, name = world.workers[number], who(world.workers[number], number)
    mine = [one for one in world.effects if one.run == me.run]
    applied = sum(one.state == APPLIED and not one.undo for one in mine)
    undone = sum(one.state == APPLIED and one.undo for one in mine)
    state = COMPENSATED if undone == applied else PARTLY
    run = world.runs[me.run]._replace(state=state, lease="free", due=False)
    return f"{name} ends run {me.run + 1} as {state}", idle(world.with_run(me.run, run), number)
