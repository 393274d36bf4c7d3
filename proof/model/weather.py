"""What nobody does: time passes, workers die or are paused, the database goes back to an old backup.

Time is a handful of moments. Their order is what the product assumes: a request begins before its send-by (the
worker's own check), lands or dies within the declared time in flight, is seen by the look-up after its lag; a vendor
forgets no key before the end of its life, of which the second half is longer than lease, send-by and flight together.
"""

from __future__ import annotations

from collections.abc import Iterator

from proof.model.case import Case
from proof.model.guards import Guard
from proof.model.world import (
    IDLE,
    LANDED,
    LATE,
    MAY_SEND,
    OLD,
    PENDING,
    QUIET,
    SENDING,
    UNSETTLED,
    YOUNG,
    Effect,
    Move,
    Worker,
    World,
    lineage,
    wake,
)


def moves(world: World, case: Case) -> Iterator[Move]:
    """Everything that may befall the world next."""
    yield from _blows(world, case)
    for effect in world.effects:
        if effect.state in UNSETTLED and effect.sent:
            yield from _time_of_request(world, effect)
            yield from _time_of_key(world, case, effect)
        if effect.gate == "open" and not effect.over and case.asks:
            late = world.with_effect(effect._replace(over=True))
            yield f"the time to decide about {effect.key} is over", late
        if effect.gate == "approved" and not effect.over and world.luck.lapse:
            late = world.spend_luck(lapse=1).with_effect(effect._replace(over=True))
            yield f"the time to use the yes to {effect.key} is over", late
        if effect.gate in ("approved", "used") and not effect.revoked and world.luck.revoke:
            gone = world.spend_luck(revoke=1).with_effect(effect._replace(revoked=True))
            yield f"who said yes to {effect.key} loses the right to decide", gone
    yield from _restore(world, case)


def _blows(world: World, case: Case) -> Iterator[Move]:
    for number, me in enumerate(world.workers):
        if me.beat == IDLE:
            continue
        if world.luck.crash:
            dead = _lose_lease(world.spend_luck(crash=1), case, number)
            wire = tuple(sorted(one._replace(by=-1) if one.by == number else one for one in dead.wire))
            dead = dead._replace(wire=wire).with_worker(number, Worker())
            yield f"worker {number + 1} is killed; its lease runs out", dead
        if world.luck.pause and me.current:
            paused = _lose_lease(world.spend_luck(pause=1), case, number)
            paused = paused.with_worker(number, paused.workers[number]._replace(current=False))
            yield f"worker {number + 1} is paused until its lease has run out", paused


def _lose_lease(world: World, case: Case, number: int) -> World:
    """A lease runs out. By then the send-by of what its worker has let out is over: it lies inside the lease."""
    me = world.workers[number]
    if not me.current:
        return world
    effect = world.effect(me.key)
    if effect is not None and effect.phase == SENDING and effect.sent and case.on(Guard.SHORT_SEND):
        world = world.with_effect(effect._replace(phase=LATE))
    if me.beat == MAY_SEND and case.on(Guard.SHORT_SEND):
        world = world.with_worker(number, me._replace(over=True))
    run = world.runs[me.run]
    return world.with_run(me.run, run._replace(lease="over")) if run.lease == "held" else world


def _time_of_request(world: World, effect: Effect) -> Iterator[Move]:
    if effect.phase == SENDING:
        workers = tuple(
            me._replace(over=True) if me.beat == MAY_SEND and me.key == effect.key else me
            for me in world.workers
        )
        late = world._replace(workers=workers).with_effect(effect._replace(phase=LATE))
        yield f"the send-by of {effect.key} passes", late
    elif effect.phase == LATE and not any(lineage(one.key) == lineage(effect.key) for one in world.wire):
        line = f"no request for {effect.key} can be in flight any more"
        yield line, world.with_effect(effect._replace(phase=LANDED))
    elif effect.phase == LANDED:
        line = f"the look-up can lag no longer about {effect.key}"
        yield line, world.with_effect(effect._replace(phase=QUIET))


def _time_of_key(world: World, case: Case, effect: Effect) -> Iterator[Move]:
    if not case.vendor.keyed:
        return
    if effect.age == YOUNG:
        yield f"the key {effect.key} passes half of its life", world.with_effect(effect._replace(age=OLD))
    elif effect.key not in world.forgot and any(one.key == effect.key for one in world.book):
        under_way = effect.phase < LANDED or _let_out(world, effect)
        if not under_way or case.off is Guard.SHORT_SEND:
            forgot = tuple(sorted({*world.forgot, effect.key}))
            yield f"the vendor forgets {effect.key}", world._replace(forgot=forgot)


def _let_out(world: World, effect: Effect) -> bool:
    """Whether a worker that holds its lease has decided to send, or may: that is over long before the key is."""
    return effect.state == PENDING and any(
        one.key == effect.key and one.current and (one.beat == MAY_SEND or one.means == "release")
        for one in world.workers
    )


def _restore(world: World, case: Case) -> Iterator[Move]:
    """A backup is taken; later everything goes back to it, with every worker stopped. The vendor forgets nothing."""
    if world.luck.restore == 2:
        kept = (world.runs, world.effects, world.reserved, world.spent)
        yield "a backup is taken", world.spend_luck(restore=1)._replace(backup=kept)
    if world.luck.restore != 1 or world.backup is None:
        return
    runs, effects, reserved, spent = world.backup
    runs = tuple(run._replace(lease="over") if run.lease == "held" else run for run in runs)
    if case.on(Guard.RESTORED):
        effects = tuple(_put_in_doubt(effect) for effect in effects)
        doubted = {effect.run for effect in effects if effect.state in UNSETTLED}
        runs = tuple(run._replace(restored=True) for run in runs)
        runs = tuple(wake(run) if number in doubted else run for number, run in enumerate(runs))
    wire = tuple(sorted(one._replace(by=-1) for one in world.wire))
    yield (
        "the database is restored from the backup",
        world.spend_luck(restore=1)._replace(
            runs=runs,
            effects=effects,
            reserved=reserved,
            spent=spent,
            said=tuple(
                one for one in world.said if one.verdict == "approve"
            ),  # a forgotten no may be reconsidered
            wire=wire,
            hands=(None,) * len(world.hands),
            workers=(Worker(),) * len(world.workers),
            backup=None,
        ),
    )


def _put_in_doubt(effect: Effect) -> Effect:
    """Whatever was open in the backup may have been sent since, with an answer that nobody has."""
    if effect.state not in ("gated", "approved", "pending", "in doubt"):
        return effect
    state = "in doubt" if effect.state == "in doubt" else PENDING
    return effect._replace(
        state=state,
        sent=True,
        open=max(effect.open, 1),
        phase=SENDING,
        age=OLD,
        gate="",
        over=False,
        since=True,
    )
