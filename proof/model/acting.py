"""What a worker does once it has decided: write, send, suspend, checkpoint, complete. Each is one step of the world."""

from __future__ import annotations

from collections.abc import Iterator

from proof.model import ledger
from proof.model.case import Case
from proof.model.guards import Guard
from proof.model.ledger import idle, ready, who
from proof.model.world import (
    ASKED,
    CANCELLING,
    COMPENSATING,
    COMPLETED,
    DOUBT,
    GATED,
    KNOWS,
    MAY_SEND,
    OPEN,
    PENDING,
    QUEUED,
    READY,
    RUNNING,
    SUSPENDED,
    Move,
    Request,
    Worker,
    World,
)


def means(world: World, case: Case, number: int) -> Move:
    """Write what was read to be due."""
    me = world.workers[number]
    if me.means == "record":
        if case.off is Guard.WRITE_AHEAD:
            blind = world.with_worker(number, me._replace(beat=MAY_SEND, means=""))
            return f"{who(me, number)} means to write {me.key} down afterwards", blind
        return ledger.record(world, case, number)
    if me.means == "release":
        return ledger.release(world, case, number)
    if me.means == "suspend":
        return _suspend(world, case, number)
    effect, after = world.effect(me.key), ready(world, number)
    assert effect is not None
    if effect.state != PENDING:
        return f"{who(me, number)} finds {me.key} {effect.state}", after
    if me.means == "adopt":
        words, after = ledger.settle_applied(after, case, effect, me.receipt)
        return f"{who(me, number)} adopts what was found: {words}", after
    return f"{who(me, number)} puts {me.key} before a person", ledger.doubt(after, case, effect)


def _suspend(world: World, case: Case, number: int) -> Move:
    """A checkpoint, an open wait, and nobody holding the run; unless the answer has come meanwhile."""
    me, name = world.workers[number], who(world.workers[number], number)
    run, effect = world.runs[me.run], world.effect(me.key)
    assert effect is not None
    if run.state == CANCELLING:
        return f"{name} finds the run {run.state}", ready(world, number)
    waits = effect.state in (GATED, DOUBT) or case.off is Guard.READ_AGAIN
    if run.state == COMPENSATING:
        rest = run._replace(lease="free", due=not waits)
    elif waits or run.held:
        rest = run._replace(state=SUSPENDED, lease="free", due=False)
    else:
        rest = run._replace(state=QUEUED, lease="free", due=True)
    line = "suspends the run" if waits else "finds the answer there already and queues the run"
    return f"{name} {line}", idle(world.with_run(me.run, rest), number)


def send(world: World, case: Case, number: int) -> Iterator[Move]:
    """The one request that a `sent` event allows, if its send-by has not passed on the clock."""
    me, name = world.workers[number], who(world.workers[number], number)
    if me.over and case.on(Guard.SEND_BY):
        told = world.with_worker(number, me._replace(beat=KNOWS, answer="not sent"))
        yield f"{name} finds the send-by over and sends nothing", told
        return
    wire = tuple(sorted((*world.wire, Request(me.key, me.body, number, me.stamp))))
    asked = world.with_worker(number, me._replace(beat=ASKED, stamp="", over=False))._replace(wire=wire)
    yield f"{name} sends the request for {me.key}", asked
    if world.luck.lose:
        away = world.spend_luck(lose=1).with_worker(number, me._replace(beat=KNOWS, answer="not sent"))
        yield f"{name} can't reach the vendor", away


def checkpoint(world: World, case: Case, number: int) -> Move:
    """End a step: fence, progress and budget in one statement."""
    me, name = world.workers[number], who(world.workers[number], number)
    run = world.runs[me.run]
    if run.state != RUNNING:
        return f"{name} finds the run {run.state}", ready(world, number)
    step = me.cursor + 1
    saved = run._replace(cursor=step, back=step < run.cursor)
    after = world.with_run(me.run, saved).with_worker(number, Worker(READY, me.run, me.current, step))
    return f"{name} writes the checkpoint after step {step}", after


def complete(world: World, number: int) -> Iterator[Move]:
    me, name = world.workers[number], who(world.workers[number], number)
    if any(one.run == me.run and one.state in OPEN for one in world.effects):
        return
    run = world.runs[me.run]._replace(state=COMPLETED, lease="free", due=False)
    yield f"{name} completes run {me.run + 1}", idle(world.with_run(me.run, run), number)
