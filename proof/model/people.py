"""The people: reviewers at gates, whoever settles a doubt, the operator. They act at any moment, or never.

People are truthful about what they see at the vendor, and may see it too early: that is what the guards are for.
"""

from __future__ import annotations

from collections.abc import Iterator

from proof.model import ledger
from proof.model.case import EDITED, REVIEWERS, Case
from proof.model.guards import Guard
from proof.model.reconcile import key_is_good
from proof.model.vendor import look_up, seen_by_people
from proof.model.world import (
    APPROVED,
    CANCELLED,
    CANCELLING,
    COMPENSATING,
    COMPLETED,
    DOUBT,
    ENDED,
    EXPIRED,
    GATED,
    LANDED,
    PENDING,
    QUEUED,
    QUIET,
    REJECTED,
    RUNNING,
    SUSPENDED,
    UNSETTLED,
    Answer,
    Effect,
    Move,
    Run,
    Said,
    World,
    wake,
)


def moves(world: World, case: Case) -> Iterator[Move]:
    """Everything that people may do next, and the sweeper, who acts for them when their time is over."""
    for effect in world.effects:
        if effect.state == GATED and effect.gate == "open":
            yield from _answers(world, case, effect)
        if effect.state == DOUBT:
            yield from _verdicts(world, case, effect)
    for number, answer in enumerate(world.hands):
        if answer is not None:
            yield _decide(world, case, number, answer)
    for number, run in enumerate(world.runs):
        yield from _operator(world, case, number, run)
    yield from _fork(world, case)


# At gates


def _answers(world: World, case: Case, effect: Effect) -> Iterator[Move]:
    """A reviewer answers what the screen shows; the answer is on its way until `_decide` has the lock."""
    run = world.runs[effect.run]
    if effect.over and not _closed(run, effect):
        line = f"the sweeper closes the gate of {effect.key}: nobody decided in time"
        yield line, _answered(ledger.give_back(world, case, effect), effect, EXPIRED)
    if not case.asks:
        yield from _at_once(world, effect)
        return
    for number, name in enumerate(REVIEWERS):
        if world.hands[number] is not None:
            continue
        verdicts = ["approve", "reject"]
        if world.luck.edit and not effect.undo and effect.body != EDITED:
            verdicts.append("edit")
        for verdict in verdicts:
            answer = Answer(effect.key, effect.round, effect.body, verdict, effect.over)
            spent = world.spend_luck(edit=1) if verdict == "edit" else world
            hands = (*world.hands[:number], answer, *world.hands[number + 1 :])
            yield (
                f"{name} answers round {effect.round} of {effect.key}, {effect.body} on the screen: {verdict}",
                spent._replace(hands=hands),
            )


def _at_once(world: World, effect: Effect) -> Iterator[Move]:
    """Where reviewers are not what is looked at: somebody answers, with nothing between screen and lock."""
    if _closed(world.runs[effect.run], effect):
        return
    parents = world.at(0, effect.place, effect.undo) if world.runs[effect.run].fork else None
    blind = parents is not None and parents.state in UNSETTLED
    heard = Said(effect.key, effect.body, "Ann", "approve", effect.round, blind=blind)
    for verdict, state in (("approve", APPROVED), ("reject", REJECTED)):
        said = tuple(sorted({*world.said, heard._replace(verdict=verdict)}))
        yield f"Ann says {verdict} to {effect.key}", _answered(world._replace(said=said), effect, state)


def _closed(run: Run, effect: Effect) -> bool:
    return run.state in ENDED or (run.state == CANCELLING and not effect.undo)


def _decide(world: World, case: Case, number: int, answer: Answer) -> Move:
    """One rule for every answer, under the locks: still open, still what the screen showed, in time, other eyes."""
    name, effect = REVIEWERS[number], world.effect(answer.key)
    assert effect is not None
    hands = (*world.hands[:number], None, *world.hands[number + 1 :])
    empty = world._replace(hands=hands)
    refused = f"the {answer.verdict} of {name} is refused"
    if _closed(empty.runs[effect.run], effect):
        return f"{refused}: the run is to end", empty
    settled = effect.state != GATED or effect.gate != "open"
    may_still = case.off is Guard.ONE_DECISION and effect.state in (REJECTED, APPROVED)
    if settled and not may_still:
        return f"{refused}: somebody was first", empty
    if (answer.round, answer.body) != (effect.round, effect.body) and case.on(Guard.SHOWN):
        return f"{refused}: what would be sent has changed", empty
    late = effect.over if case.on(Guard.DECIDE_BY) else answer.late
    if late:
        return f"{refused}: too late", empty
    own = effect.editor == name
    if own and answer.verdict == "approve" and case.on(Guard.FOUR_EYES):
        return f"{refused}: it is their own edit", empty
    if answer.verdict == "edit":
        new = effect._replace(body=EDITED, round=effect.round + 1, gate="open", over=False, editor=name)
        return f"the edit of {name} is recorded: round {new.round} asks about {EDITED}", empty.with_effect(
            new
        )
    # What was said is about what the screen showed. Only a late yes can be held against anybody.
    heard = Said(
        answer.key,
        answer.body,
        name,
        answer.verdict,
        effect.round,
        late=effect.over and answer.verdict == "approve",
        own=own,
    )
    after = empty._replace(said=tuple(sorted({*empty.said, heard})))
    if answer.verdict == "approve":
        return f"the yes of {name} is recorded", _answered(after, effect, APPROVED)
    return f"the no of {name} is recorded", _answered(ledger.give_back(after, case, effect), effect, REJECTED)


def _answered(world: World, effect: Effect, state: str) -> World:
    gate = "approved" if state == APPROVED else ""
    world = world.with_effect(effect._replace(state=state, gate=gate, over=False, drawn=effect.drawn))
    return world.with_run(effect.run, wake(world.runs[effect.run]))


# About doubts


def _verdicts(world: World, case: Case, effect: Effect) -> Iterator[Move]:
    """A person says what became of an effect in doubt; the sweeper goes on looking and adopts what it finds."""
    for said, receipt in look_up(world, case, effect):
        if said == "found":
            words, after = ledger.settle_applied(world, case, effect._replace(state=PENDING), receipt)
            if "applied" in words:
                yield f"the sweeper looks again and adopts: {words}", _settled(after, effect)
    for hits in seen_by_people(world, case, effect):
        for receipt in hits:
            moved = world.book[receipt].body  # by hand it is settled with the sum that the receipt names
            seen = effect._replace(state=PENDING, body=moved)
            words, after = ledger.settle_applied(world, case, seen, receipt)
            if "applied" in words:
                yield f"a person finds it at the vendor: {words}", _settled(after, effect)
        if not hits and _may_say_no(case, effect):
            yield _did_not(world, case, effect)


def _may_say_no(case: Case, effect: Effect) -> bool:
    """ "It did not happen" is accepted only after quiescence."""
    if case.off is Guard.QUIET:
        return True
    return effect.phase >= (LANDED if case.off is Guard.LAG else QUIET)


def _did_not(world: World, case: Case, effect: Effect) -> Move:
    """A young key is sent again; any other gives its place to a new one, linked and gated."""
    run, line = world.runs[effect.run], f"a person sees nothing at the vendor: {effect.key} did not happen"
    goes_on = run.state == (COMPENSATING if effect.undo else SUSPENDED)
    if key_is_good(case, effect) and goes_on:
        again = effect._replace(state=PENDING, open=0, unsure=True)
        return f"{line}; its key is still good", _settled(world.with_effect(again), effect)
    return f"{line}; its place is free", _settled(ledger.withdraw(world, case, effect), effect)


def _settled(world: World, effect: Effect) -> World:
    return world.with_run(effect.run, wake(world.runs[effect.run]))


# The operator


def _operator(world: World, case: Case, number: int, run: Run) -> Iterator[Move]:
    """Hold, release, cancel, look at what is stuck, compensate what has ended."""
    forward = run.state in (QUEUED, RUNNING, SUSPENDED)
    forked = any(one.fork for one in world.runs) and not run.fork
    if world.luck.hold and forward and not run.held:
        rests = run.state == QUEUED
        held = run._replace(held=True, state=SUSPENDED if rests else run.state, due=run.due and not rests)
        yield f"an operator holds run {number + 1}", world.spend_luck(hold=1).with_run(number, held)
    if run.held and forward and not forked:
        free = run._replace(held=False)
        if not _asked(world, number):
            free = wake(free)
        yield f"an operator releases run {number + 1}", world.with_run(number, free)
    stuck = bool(run.stuck) or (run.held and forked)
    if forward and (world.luck.cancel or stuck):
        spent = world if stuck else world.spend_luck(cancel=1)
        for undo in (False, True) if case.undo else (False,):
            to_end = run._replace(state=CANCELLING, undo=undo, held=False, stuck="", due=run.lease == "free")
            what = f"cancels run {number + 1}{' and has it undone' if undo else ''}"
            yield f"an operator {what}", spent.with_run(number, to_end)
    if run.stuck == "conflict" and run.state == SUSPENDED and not _asked(world, number):
        seen = wake(run._replace(stuck=""))
        yield f"a person looks at the conflict and lets run {number + 1} go on", world.with_run(number, seen)
    if case.undo and world.luck.cancel and run.state in (COMPLETED, CANCELLED):
        back = run._replace(state=COMPENSATING, due=True, lease="free")
        yield f"an operator has run {number + 1} undone", world.spend_luck(cancel=1).with_run(number, back)


def _asked(world: World, run: int) -> bool:
    """Whether people are still asked about something of a run."""
    return any(one.run == run and one.state in (GATED, DOUBT) for one in world.effects)


def _fork(world: World, case: Case) -> Iterator[Move]:
    """Start a run from the first checkpoint of one that has ended or is held, with nothing pending or in doubt."""
    parent = world.runs[0]
    if not world.luck.fork or not (parent.state in ENDED or (parent.held and parent.lease == "free")):
        return
    unsettled = any(one.run == 0 and one.state in (PENDING, DOUBT) for one in world.effects)
    if unsettled and case.on(Guard.FORK_BLOCKED):
        return
    after = world.spend_luck(fork=1)
    yield "an operator forks run 1 as run 2", after._replace(runs=(*after.runs, Run(fork=True)))
