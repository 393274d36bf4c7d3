"""Where workers fall asleep: at every point that a dry run passes, on each leg of a run, at two kinds of vendor."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal

from approvals.models import Gate
from approvals.states import GateState, Verdict
from durable import clock, faults, recovery, runner, runs, verdicts
from durable.errors import Conflict
from durable.models import Effect, Run
from durable.states import ENDED, EffectState, RunState
from proof.races.ground import Ground, drive, say
from proof.zombies import cast
from proof.zombies.keeper import TOOL

#: Passed from a thread of its own, whenever a third of a lease is over: no dry run can say where.
_BY_THE_CLOCK = ("heartbeat",)
_KEYED, _KEYLESS = cast.KeyedDesk.name, cast.KeylessDesk.name


@dataclass(frozen=True, eq=False)
class Leg:
    """A part of a run's life that begins with a claim: how a run is brought there, and how it must end."""

    name: str
    bring: Callable[[Ground, str], Run]
    ends: RunState
    moves: dict[str, list[int]]


def fresh(ground: Ground, agent: str) -> Run:
    return ground.start(agent)


def dropped(ground: Ground, agent: str) -> Run:
    """The vendor acts on the first request and does not answer."""
    order = ground.order()
    contains = order["charge"] if agent == _KEYED else order["order"]
    ground.vendor.fault("drop", method="POST", contains=contains)
    return ground.start(agent, **order)


def approved(ground: Ground, agent: str) -> Run:
    run = ground.start(agent)
    drive([run])
    approve(ground, run)
    return run


def cancelled(ground: Ground, agent: str) -> Run:
    run = ground.start(agent)
    drive([run])
    runs.cancel(run.ref, actor="sven", reason="the customer has withdrawn")
    return run


def to_be_undone(ground: Ground, agent: str) -> Run:
    run = approved(ground, agent)
    drive([run])
    runs.compensate(run.ref, actor="sven", reason="take it back")
    return run


_ALL = {_KEYED: [cast.SMALL, cast.LARGE], _KEYLESS: [1, 1]}
LEGS = (
    Leg("forward", fresh, RunState.COMPLETED, _ALL),
    Leg("release", approved, RunState.COMPLETED, _ALL),
    Leg("doubt", dropped, RunState.COMPLETED, _ALL),
    Leg("cancelled", cancelled, RunState.CANCELLED, {_KEYED: [cast.SMALL], _KEYLESS: [1]}),
    Leg("undo", to_be_undone, RunState.PARTLY_COMPENSATED, {_KEYLESS: [-1, 1, 1]}),
)


@dataclass(frozen=True)
class Case:
    """One worker that falls asleep: over which agent's run, on which leg, where."""

    agent: str
    leg: Leg
    stop: str

    @property
    def name(self) -> str:
        return f"{self.agent} {self.leg.name} {self.stop}"

    @property
    def point(self) -> tuple[str, str]:
        return self.agent, self.stop.partition(":")[0]

    def expected(self) -> list[Decimal]:
        """What the vendor's book must say in the end, smallest first."""
        return sorted(Decimal(one) for one in self.leg.moves[self.agent])


def enumerate_all(ground: Ground) -> list[Case]:
    """Every case there is, those at a new point first: of them any number may be taken from the head."""
    first: list[Case] = []
    again: list[Case] = []
    met: set[tuple[str, str]] = set()
    for leg in LEGS:
        for agent in leg.moves:
            for stop in _passed(leg.bring(ground, agent)):
                case = Case(agent, leg, stop)
                (again if case.point in met else first).append(case)
                met.add(case.point)
    return first + again


def _passed(run: Run) -> list[str]:
    """Drive a run, and return the points that it passed, each with the number of its hit."""
    hits: Counter[str] = Counter()
    passed: list[str] = []

    def hear(point: str) -> None:
        if point.partition(".")[0] not in _BY_THE_CLOCK:
            hits[point] += 1
            passed.append(f"{point}:{hits[point]}")

    with faults.watched(hear), _tools_heard(passed):
        runner.drive(run.ref)
    return passed


@contextmanager
def _tools_heard(passed: list[str]) -> Iterator[None]:
    cast.inside.append(lambda: None if TOOL in passed else passed.append(TOOL))
    try:
        yield
    finally:
        cast.inside.clear()


# Another worker, and the people, bring a run to its end


def approve(ground: Ground, run: Run) -> None:
    """A reviewer says yes at every gate of a run that is open."""
    gates = Gate.objects.filter(effect__run=run, state=GateState.OPEN.value)
    for gate in gates.select_related("effect__run", "wait"):
        say(ground.reviewers[0], gate, Verdict.APPROVE)


def finish(ground: Ground, found: Iterable[Run], refused: list[str], seconds: float = 60.0) -> list[str]:
    """Bring runs to their ends as workers, sweeper and people would. Returns what went wrong.

    `refused` gets the keys about which a person said too early that nothing had happened, and was not believed.
    """
    left, end = list(found), time.monotonic() + seconds
    wrong: list[str] = []
    while left and time.monotonic() < end:
        recovery.sweep()
        for run in left:
            drive([run])
            if run.state not in ENDED:
                approve(ground, run)
                wrong += _settle(ground, run, refused)
                run.refresh_from_db()
        left = [run for run in left if run.state not in ENDED]
        time.sleep(0.05)
    return wrong + [f"{run.ref}: still {run.state}" for run in left]


def _settle(ground: Ground, run: Run, refused: list[str]) -> list[str]:
    """A person says what became of effects in doubt, by the vendor's book; and tries to say so too early."""
    wrong = []
    for effect in Effect.objects.filter(run=run, state=EffectState.IN_DOUBT.value).select_related("run"):
        outlook = verdicts.outlook(effect)
        if not outlook.may_be_said:
            try:
                verdicts.did_not(effect.key, actor="sven", reason="surely not")
            except Conflict:
                refused.append(effect.key)  # as it should be: the person comes back later
                continue
            if clock.db_now() < outlook.not_before:
                wrong.append(f"{effect.key}: it was said not to have happened before quiescence")
            continue
        entry = next((one for one in ground.vendor.book() if one["key"] == effect.key), None)
        if entry is None:
            verdicts.did_not(effect.key, actor="sven", reason="the vendor's book has nothing")
        else:
            verdicts.happened(effect.key, actor="sven", reason="seen in the book", receipt_id=entry["id"])
    return wrong
