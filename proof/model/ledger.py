"""The commits of the ledger: intent, release, outcome. Each is one step of the world, taken under the run's lock.

Every function takes a world and a worker that has read what it means to write, and returns the line of the story
with the world after the commit. A worker whose token is stale never gets here while the fence stands (`worker.moves`),
but for what it has heard from the vendor: of that it may leave a late answer.
"""

from __future__ import annotations

from proof.model import oracle
from proof.model.case import Case
from proof.model.guards import Guard
from proof.model.world import (
    APPLIED,
    APPROVED,
    COMPENSATING,
    DOUBT,
    FAILED,
    GATED,
    MAY_SEND,
    OLD,
    PENDING,
    QUIET,
    READY,
    RUNNING,
    SENDING,
    UNSETTLED,
    WITHDRAWN,
    YOUNG,
    Effect,
    Move,
    Worker,
    World,
    wake,
)


def who(worker: Worker, number: int) -> str:
    """How the story names a worker."""
    return f"worker {number + 1}" if worker.current else f"worker {number + 1}, whose lease is gone,"


def ready(world: World, number: int) -> World:
    """The worker is done with this beat and reads the ledger again."""
    me = world.workers[number]
    return world.with_worker(number, Worker(READY, me.run, me.current, me.cursor, me.asked))


def idle(world: World, number: int) -> World:
    """The worker has let go of its run."""
    return world.with_worker(number, Worker())


def record(world: World, case: Case, number: int) -> Move:
    """The first beat: the intent, its money, and either its gate or its leave to be sent, in one commit."""
    me = world.workers[number]
    run, name = world.runs[me.run], who(me, number)
    wanted = COMPENSATING if me.undo else RUNNING
    if run.state != wanted and case.on(Guard.INTEND):
        return f"{name} finds the run {run.state} and records nothing", ready(world, number)
    if run.held and case.on(Guard.HOLD):
        return f"{name} finds the run held and records nothing", ready(world, number)
    if world.effect(me.key) is not None:
        return f"{name} finds {me.key} on record already", ready(world, number)
    older = world.at(me.run, me.place, me.undo)
    link = older.link + 1 if older is not None and "~" in me.key else 1
    effect = Effect(me.key, me.run, me.place, me.undo, me.body, me.body, PENDING, link)
    drawn = reserve(world, case, effect, fits=me.fits)
    if drawn is None:
        stuck = run._replace(state="suspended", lease="free", due=False, stuck="budget spent")
        return f"{name} finds the budget spent; a person is asked", idle(
            world.with_run(me.run, stuck), number
        )
    world, effect = drawn
    if run.restored and not (older is not None and older.since) and case.on(Guard.RESTORED):
        # A linked key too: people may have agreed to it since the backup, and it may have been sent.
        doubtful = effect._replace(sent=True, open=1, age=OLD, since=True)
        line = f"{name} records {me.key}, which may have been sent before the restore"
        return line, ready(world.with_effect(doubtful), number)
    if gated(world, case, effect, alone=me.fits):
        asked = effect._replace(state=GATED, gate="open")
        return f"{name} records {me.key} for {me.body} and opens its gate", ready(
            world.with_effect(asked), number
        )
    return f"{name} records {me.key} for {me.body} and may send it", _send_out(world, effect, number)


def gated(world: World, case: Case, effect: Effect, *, alone: bool) -> bool:
    """Whether people must be asked first: class, a linked key, kinship, or another run's same act."""
    if effect.link > 1:
        return case.on(Guard.LINK_GATED)
    if effect.undo:
        return False
    if world.runs[effect.run].fork and case.on(Guard.FORK_GATED) and case.on(Guard.FORK_INHERITS):
        return world.at(0, effect.place, False) is not None
    if case.once and case.on(Guard.ONCE_PER):
        return not alone if case.off is Guard.ONCE_QUEUE else twin(world, effect.run, effect.place)
    return effect.place in case.gated


def twin(world: World, run: int, place: str) -> bool:
    """Whether another run is about the same business act, or has done it."""
    acts = (GATED, APPROVED, PENDING, DOUBT, APPLIED)
    return any(one.run != run and one.place == place and one.state in acts for one in world.effects)


def release(world: World, case: Case, number: int) -> Move:
    """The one check that lets an effect out, first time or again, with its `sent` event in the same commit."""
    me = world.workers[number]
    run, effect, name = world.runs[me.run], world.effect(me.key), who(me, number)
    assert effect is not None
    if not effect.undo:
        if run.state != RUNNING and case.on(Guard.CANCEL):
            return f"{name} finds the run {run.state} and sends nothing", ready(world, number)
        if run.held and case.on(Guard.HOLD):
            return f"{name} finds the run held and sends nothing", ready(world, number)
    free = effect.state == GATED and case.off in (Guard.ACT_ON_YES, Guard.USED_ONCE)
    if effect.state not in (PENDING, APPROVED) and not free:
        return f"{name} finds {me.key} {effect.state} and sends nothing", ready(world, number)
    if effect.body != me.body:
        return f"{name} finds {me.key} with another body and sends nothing", ready(world, number)
    if effect.gate == "approved" and effect.over and case.on(Guard.ACT_BY):
        return f"{name} finds the yes lapsed; {me.key} is asked about anew", ready(
            reopen(world, effect), number
        )
    if effect.revoked and case.on(Guard.RIGHTS):
        if never_left(effect):
            return f"{name} finds the yes void; {me.key} is asked about anew", ready(
                reopen(world, effect), number
            )
        return f"{name} may not repeat {me.key}; it is in doubt", ready(doubt(world, case, effect), number)
    return f"{name} releases {me.key} for {me.body}", _send_out(world, effect, number)


def _send_out(world: World, effect: Effect, number: int) -> World:
    words = oracle.stamp(world.runs[effect.run], effect)
    sent = effect._replace(
        state=PENDING,
        sent=True,
        open=effect.open + 1,
        phase=SENDING,
        age=YOUNG if never_left(effect) else effect.age,
        gate="used" if effect.gate == "approved" else effect.gate,
        over=False,
    )
    me = world.workers[number]
    to_send = me._replace(beat=MAY_SEND, key=sent.key, body=sent.body, means="", fits=True, stamp=words)
    return world.with_effect(sent).with_worker(number, to_send)


def reopen(world: World, effect: Effect) -> World:
    """A new round about the same body: the yes of the old one carries nothing any more."""
    return world.with_effect(
        effect._replace(state=GATED, gate="open", round=effect.round + 1, over=False, revoked=False)
    )


def never_left(effect: Effect) -> bool:
    """Whether each request so far certainly had no effect: the vendor knows nothing of the key."""
    return not effect.sent or (effect.open == 0 and not effect.unsure)


def settle_applied(world: World, case: Case, effect: Effect, receipt: int) -> tuple[str, World]:
    """Record what happened with its receipt, if it can be this effect's; else a person must look."""
    movement = world.book[receipt]
    if movement.body != effect.body and case.on(Guard.MATCH):
        return f"the receipt names {movement.body}; {effect.key} is in doubt", doubt(world, case, effect)
    taken = any(one.receipt == receipt and one.key != effect.key for one in world.effects)
    if taken and case.on(Guard.RECEIPT_ONCE):
        return f"the receipt belongs to another effect; {effect.key} is in doubt", doubt(world, case, effect)
    if case.limit is not None and not effect.undo:
        back = effect.body if effect.drawn else 0
        world = world._replace(reserved=world.reserved - back, spent=world.spent + effect.body)
    done = effect._replace(state=APPLIED, open=0, receipt=receipt, phase=QUIET, late=-1, drawn=False)
    return f"{effect.key} is applied", world.with_effect(done)


def outcome(world: World, case: Case, number: int) -> Move:
    """The third beat: write down what the vendor answered. Without the lease it becomes a late answer."""
    me, name = world.workers[number], who(world.workers[number], number)
    effect = world.effect(me.key)
    if not me.current and case.on(Guard.FENCE):
        return late(world, number)
    if effect is None:  # only where intents are not written ahead
        effect = Effect(me.key, me.run, me.place, me.undo, me.body, me.body, PENDING, sent=True, open=1)
    after, line = ready(world, number), f"{name} writes down that {me.key} got: {me.answer}"
    if effect.state != PENDING:
        return line, after
    if me.answer == "receipt":
        words, after = settle_applied(after, case, effect, me.receipt)
        return f"{name} writes down the answer: {words}", after
    if me.answer == "refused":
        if effect.open > 1 and case.on(Guard.REFUSED_WHILE_OPEN):
            unsure = effect._replace(saved=True, open=effect.open - 1, unsure=True)
            return f"{line}, which decides nothing yet", after.with_effect(unsure)
        after = give_back(after, case, effect)
        return line, after.with_effect(effect._replace(state=FAILED, open=0, phase=QUIET, drawn=False))
    if me.answer == "not sent":
        return line, after.with_effect(effect._replace(open=effect.open - 1))
    saved = effect.saved or me.answer == "saved error"
    return line, after.with_effect(effect._replace(saved=saved))


def late(world: World, number: int) -> Move:
    """A worker without the lease may leave what it knows, which changes no state; reconciling reads it."""
    me = world.workers[number]
    effect, name = world.effect(me.key), who(me, number)
    if effect is None or me.answer != "receipt" or effect.state not in UNSETTLED:
        return f"{name} is refused, and stops", idle(world, number)
    world = world.with_effect(effect._replace(late=me.receipt))
    return f"{name} is refused, and leaves a late answer", idle(
        world.with_run(effect.run, wake(world.runs[effect.run])), number
    )


def doubt(world: World, case: Case, effect: Effect) -> World:
    """Put a pending effect before a person."""
    if effect.state != PENDING:
        return world
    if case.off is Guard.DOUBT_KEEPS:
        world = give_back(world, case, effect)
        effect = effect._replace(drawn=False)
    return world.with_effect(effect._replace(state=DOUBT))


def withdraw(world: World, case: Case, effect: Effect) -> World:
    """Take back what never left, or what a person says never happened."""
    world = give_back(world, case, effect)
    gone = effect._replace(state=WITHDRAWN, open=0, gate="", over=False, phase=QUIET, drawn=False)
    return world.with_effect(gone)


def reserve(world: World, case: Case, effect: Effect, *, fits: bool) -> tuple[World, Effect] | None:
    """Reserve an effect's money with its intent; None where the purse has no room. Undos stand outside."""
    if case.limit is None or effect.undo:
        return world, effect
    if case.off is not Guard.RESERVE_AT_ONCE:
        fits = room(world, case, effect.body)
    if not fits:
        return None
    if case.off is Guard.RESERVE:
        return world, effect
    return world._replace(reserved=world.reserved + effect.body), effect._replace(drawn=True)


def room(world: World, case: Case, amount: int) -> bool:
    """Whether the purse has room for an amount now."""
    return case.limit is None or world.reserved + world.spent + amount <= case.limit


def give_back(world: World, case: Case, effect: Effect) -> World:
    """Give an effect's reservation back to the purse, if it has one."""
    return world._replace(reserved=world.reserved - effect.body) if effect.drawn else world
