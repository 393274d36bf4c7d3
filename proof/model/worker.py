"""A worker: claims a run, reads what the ledger says about the next act, and does what the table of the protocol says.

It reads in one step and writes in the next, so that everybody else may come between; a crash or a pause strikes
wherever it stands (`weather`).
"""

from __future__ import annotations

from collections.abc import Iterator

from proof.model import acting, ending, ledger
from proof.model.case import AMOUNT, FICKLE, Case
from proof.model.guards import Guard
from proof.model.ledger import idle, ready, who
from proof.model.reconcile import key_is_good, reconcile
from proof.model.world import (
    APPLIED,
    APPROVED,
    ASKED,
    CANCELLING,
    COMPENSATING,
    DONE,
    DOUBT,
    FAILED,
    GATED,
    IDLE,
    KNOWS,
    MAY_SEND,
    MEANS,
    PENDING,
    QUEUED,
    READY,
    REFUSED,
    RUNNING,
    SUSPENDED,
    WITHDRAWN,
    Effect,
    Move,
    Worker,
    World,
)


def moves(world: World, case: Case) -> Iterator[Move]:
    """Everything that the workers may do next."""
    yield from _claims(world, case)
    for number, me in enumerate(world.workers):
        if me.beat == IDLE:
            continue
        if not me.current and case.on(Guard.FENCE) and not _runs_blind(me, case):
            yield f"{who(me, number)} finds it out and stops", idle(world, number)
        elif me.beat == READY:
            yield from _ready(world, case, number)
        elif me.beat == MEANS:
            yield acting.means(world, case, number)
        elif me.beat == MAY_SEND:
            yield from acting.send(world, case, number)
        elif me.beat == KNOWS:
            yield ledger.outcome(world, case, number)
        elif me.beat == DONE:
            yield acting.checkpoint(world, case, number)


def _runs_blind(me: Worker, case: Case) -> bool:
    """Where a worker has not yet learned that its lease is gone: on the wire, and where a fence is missing."""
    if me.beat in (MAY_SEND, ASKED, KNOWS):
        return True
    return me.beat == DONE and case.off is Guard.FENCED_CHECKPOINT


def _claims(world: World, case: Case) -> Iterator[Move]:
    """The first idle worker takes a run that is due, or whose lease has run out."""
    number = next((n for n, one in enumerate(world.workers) if one.beat == IDLE), -1)
    if number < 0:
        return
    for place, run in enumerate(world.runs):
        if run.lease == "over" or (run.lease == "free" and run.due):
            counts = case.off in (Guard.KEY_FROM_PLACE, Guard.UNDO_KEY)
            held = run._replace(
                lease="held",
                due=False,
                state=RUNNING if run.state == QUEUED else run.state,
                attempt=run.attempt + 1 if counts else 0,
            )
            me = Worker(READY, place, cursor=run.cursor)
            yield (
                f"worker {number + 1} claims run {place + 1}",
                world.with_run(place, held).with_worker(number, me),
            )


def _ready(world: World, case: Case, number: int) -> Iterator[Move]:
    """Read the run, and what the ledger says about its next act."""
    me = world.workers[number]
    run, plan = world.runs[me.run], case.plan(me.run)
    if run.state == CANCELLING:
        yield from ending.settle_and_end(world, case, number)
    elif run.state == COMPENSATING:
        undone = ending.next_to_undo(world, case, me.run)
        if undone is None:
            yield ending.end_compensation(world, number)
        else:
            yield from _read(world, case, number, undone.place, undone.body, undo=True)
    elif run.state != RUNNING:
        yield f"{who(me, number)} finds the run {run.state} and stops", idle(world, number)
    elif run.held:
        rest = run._replace(state=SUSPENDED, lease="free", due=False)
        yield f"{who(me, number)} suspends on the hold", idle(world.with_run(me.run, rest), number)
    elif me.cursor >= len(plan):
        yield from acting.complete(world, number)
    else:
        yield from _step(world, case, number, plan[me.cursor])


def _step(world: World, case: Case, number: int, place: str) -> Iterator[Move]:
    """Execute a step from its start. One that was executed before may ask for another body now."""
    me = world.workers[number]
    asked = me.asked or AMOUNT
    yield from _read(_asks(world, number, asked), case, number, place, asked, undo=False)
    before = world.at(me.run, place, False) or (world.runs[me.run].fork and world.at(0, place, False))
    if world.luck.fickle and before and not me.asked:
        other = _asks(world.spend_luck(fickle=1), number, FICKLE)
        for line, after in _read(other, case, number, place, FICKLE, undo=False):
            yield f"the step asks for {FICKLE} now: {line}", after


def _asks(world: World, number: int, asked: int) -> World:
    me = world.workers[number]
    return world if me.asked == asked else world.with_worker(number, me._replace(asked=asked))


def _key(world: World, case: Case, me: Worker, place: str, undo: bool, older: Effect | None) -> str:
    key = f"run-{me.run + 1}:{place}"
    attempt = world.runs[me.run].attempt
    if case.off is Guard.KEY_FROM_PLACE:
        key += f"/{attempt}"
    if undo:
        key += ":undo" if case.on(Guard.UNDO_KEY) else f":undo/{attempt}"
    return key if older is None else f"{key}~{older.link + 1}"


def _read(world: World, case: Case, number: int, place: str, asked: int, *, undo: bool) -> Iterator[Move]:
    """The table of the effect protocol: what the ledger says decides what the worker means to do."""
    me = world.workers[number]
    found = world.at(me.run, place, undo)
    counted = case.off is Guard.KEY_FROM_PLACE or (undo and case.off is Guard.UNDO_KEY)
    if counted and found is not None and found.key != _key(world, case, me, place, undo, None):
        found = None
    gone = found is not None and found.state == WITHDRAWN and found.sent
    if found is None or gone:
        if found is None and not undo and _inherited(world, case, me, place, asked):
            yield f"{who(me, number)} has the parent's receipt for {place}", _done(world, number)
            return
        key = _key(world, case, me, place, undo, found)
        fits = ledger.room(world, case, asked) and not (case.once and ledger.twin(world, me.run, place))
        meant = me._replace(beat=MEANS, means="record", key=key, place=place, undo=undo, body=asked)
        if case.off in (Guard.RESERVE_AT_ONCE, Guard.ONCE_QUEUE):
            meant = meant._replace(fits=fits)
        yield f"{who(me, number)} finds nothing of {key} in the ledger", world.with_worker(number, meant)
        return
    if found.asked != asked:
        yield _another_ask(world, case, number, found, asked)
        return
    if found.state in REFUSED or found.state == FAILED or found.state == APPLIED:
        yield f"{who(me, number)} reads that {found.key} is {found.state}", _done(world, number)
        return
    yield from _open(world, case, number, found)


def _open(world: World, case: Case, number: int, found: Effect) -> Iterator[Move]:
    """The rows of the table for an effect that is still to be decided, let out or settled."""
    name = who(world.workers[number], number)
    if found.state == GATED and not _let_out_all_the_same(world, case, found):
        yield f"{name} sees the gate of {found.key} open", _mean(world, number, "suspend", found)
    elif found.state in (APPROVED, GATED):
        yield f"{name} reads that {found.key} is {found.state}", _mean(world, number, "release", found)
    elif found.state == DOUBT:
        yield f"{name} sees {found.key} in doubt", _mean(world, number, "suspend", found)
    elif found.open and case.on(Guard.NO_BLIND_REPEAT):
        yield from reconcile(world, case, number, found, may_send=True)
    elif ledger.never_left(found) or key_is_good(case, found) or case.off is Guard.NO_BLIND_REPEAT:
        yield f"{name} reads that {found.key} is to be sent", _mean(world, number, "release", found)
    else:
        yield f"{name} finds the key of {found.key} too old", ready(ledger.doubt(world, case, found), number)


def _let_out_all_the_same(world: World, case: Case, found: Effect) -> bool:
    """Without its guard a gate is no obstacle, or another effect's yes opens it."""
    if case.off is Guard.USED_ONCE:
        return any(one.gate in ("approved", "used") and one.body == found.body for one in world.effects)
    return case.off is Guard.ACT_ON_YES


def _mean(world: World, number: int, what: str, effect: Effect) -> World:
    me = world.workers[number]
    meant = me._replace(
        beat=MEANS, means=what, key=effect.key, place=effect.place, undo=effect.undo, body=effect.body
    )
    return world.with_worker(number, meant)


def _inherited(world: World, case: Case, me: Worker, place: str, asked: int) -> bool:
    """Whether the parent of a fork has done this very thing at this place, and not taken it back."""
    if not world.runs[me.run].fork or case.off is Guard.FORK_INHERITS:
        return False
    found, undone = world.at(0, place, False), world.at(0, place, True)
    taken_back = undone is not None and undone.state == APPLIED
    return found is not None and found.state == APPLIED and found.asked == asked and not taken_back


def _done(world: World, number: int) -> World:
    me = world.workers[number]
    return world.with_worker(number, Worker(DONE, me.run, me.current, me.cursor))


def _another_ask(world: World, case: Case, number: int, effect: Effect, asked: int) -> Move:
    """The step asks for another body: a new round until the first request, a conflict for people after it."""
    me, name = world.workers[number], who(world.workers[number], number)
    run = world.runs[me.run]
    if run.state != RUNNING:
        return f"{name} finds the run {run.state}", ready(world, number)
    if effect.sent and case.on(Guard.BODY_BOUND):
        stuck = run._replace(state=SUSPENDED, lease="free", due=False, stuck="conflict")
        after = ledger.doubt(world, case, effect).with_run(me.run, stuck)
        return f"{name} finds {effect.key} sent with another body: a conflict, for people", idle(
            after, number
        )
    new = effect._replace(asked=asked, body=asked, round=effect.round + 1)
    if not effect.sent and case.on(Guard.NEW_ROUND):
        asks = ledger.gated(world, case, new, alone=me.fits)
        state, gate = (GATED, "open") if asks else (PENDING, "")
        new = new._replace(state=state, gate=gate, over=False, revoked=False, editor="")
    return f"{name} puts {asked} in the place of {effect.body} in {effect.key}", ready(
        world.with_effect(new), number
    )
