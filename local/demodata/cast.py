"""Which story each run tells: in realistic shares, every kind at least once, until the stated size is reached."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate

from django.db import connection

from durable.agents.refund_desk import RefundDesk
from durable.budget import Budget
from local.demodata import living, past, stories
from local.demodata.chronicle import World
from local.demodata.rows import BATCH, Rows
from local.demodata.story import Story


@dataclass(frozen=True)
class Kind:
    """A story, its share among its like (out of a hundred or so), and the number of its effects."""

    tell: Callable[[Story], None]
    share: float
    effects: int = 1
    agent: str = "RefundDesk"
    limits: Budget = RefundDesk.budget
    waits: bool = False  # at a gate that people can answer


ENDED = (
    Kind(stories.refunded, 34),
    Kind(stories.refunded_large, 10),
    Kind(stories.refunded_told, 11, 2),
    Kind(stories.refunded_untold, 2.5, 2),
    Kind(stories.replaced, 5),
    Kind(stories.replaced, 5, 1, "ReturnsDesk", past.RETURNS_DESK),
    Kind(stories.replaced_told, 4, 2),
    Kind(stories.replaced_told, 4, 2, "ReturnsDesk", past.RETURNS_DESK),
    Kind(stories.refused, 3),
    Kind(stories.adopted, 3),
    Kind(stories.given_up, 3, 0),
    Kind(stories.cancelled, 1.5),
    Kind(stories.expired, 1.5),
    Kind(stories.charged_back, 1),
    Kind(stories.compensated, 1.5, 2),
    Kind(stories.partly_compensated, 1),
    Kind(past.settle_claim, 9, 1, "ClaimsDesk", past.CLAIMS_DESK),
    Kind(past.restocked, 3, past.ORDERS, "StockDesk", past.STOCK_DESK),
)
#: Runs of the last two days.
RECENT = (
    Kind(living.waits_for_yes, 30, waits=True),
    Kind(living.letter_waits, 20, 2, waits=True),
    Kind(living.asked_back, 4, waits=True),
    Kind(living.in_doubt, 4),
    Kind(living.stuck, 4, 0),
    Kind(living.held, 3, 0),
    Kind(stories.refunded, 25),
    Kind(stories.replaced, 10),
)
KINDS = ENDED + RECENT
SMALLEST = len(KINDS)
#: Out of so many runs one is recent; but for a very small database, of which each kind has one.
_ONE_RECENT_IN = 250
#: Before the database was made: a story of `ENDED` takes less than the first, one of `RECENT` less than the second.
_SETTLED, _RECENT, _FRESH = timedelta(days=4, hours=12), timedelta(hours=46), timedelta(hours=2)
_PLAIN = 0  # the kind with one effect, that fills up to a stated number
#: One kind of each number of effects.
_LENGTHS = tuple({kind.effects: number for number, kind in enumerate(ENDED)}.values())


@dataclass(frozen=True)
class Batch:
    """Consecutive runs: the number of the first (from 0), the kind of each, and when the first and the last began."""

    number: int
    kinds: bytes
    moments: tuple[tuple[datetime, timedelta], ...]


@dataclass(frozen=True)
class Plan:
    """The whole cast: the kind of each run, of which the last `recent` are of these days."""

    kinds: bytes
    recent: int

    @property
    def effects(self) -> int:
        """How many effects they come to."""
        return _effects(self.kinds)

    @property
    def gates(self) -> int:
        """How many gates wait for people."""
        return sum(self.kinds.count(number) for number, kind in enumerate(KINDS) if kind.waits)


def plan(*, runs: int = 0, effects: int = 0, gates: int = 0, seed: int) -> Plan:
    """Cast exactly so many runs, so many effects, so many gates that wait: those that are named; the rest follows.

    Raises ValueError for fewer than there are kinds of stories, and for numbers that can't be had together.
    """
    chance = random.Random(seed)
    each = _effects(bytes(range(len(KINDS))))
    if (runs and runs < SMALLEST) or (effects and effects < each):
        raise ValueError(f"at least {SMALLEST} runs, or {each} effects: one of each kind of story")
    mean = sum(kind.share * kind.effects for kind in ENDED) / sum(kind.share for kind in ENDED)
    recent = _recent(chance, runs or int(effects / mean), gates)
    first = bytes(range(len(ENDED)))
    left, more = runs - len(first) - len(recent), effects - _effects(first + recent)
    if (runs and left < 0) or (effects and more < 0):
        raise ValueError(f"{gates} gates that wait need more runs than that")
    if runs and effects:
        past = _exactly(chance, left, more)
    else:
        past = bytes(_choose(chance, range(len(ENDED)), left) if runs else _until(chance, more))
    return Plan(first + past + recent, len(recent))


def _effects(kinds: bytes) -> int:
    return sum(kinds.count(number) * kind.effects for number, kind in enumerate(KINDS))


def _recent(chance: random.Random, about: int, gates: int) -> bytes:
    """The runs of these days beside `about` others: at least one of each kind, with so many gates that wait, if any."""
    last = range(len(ENDED), len(KINDS))
    more = max(about // _ONE_RECENT_IN - len(RECENT), 0)
    if not gates:
        return bytes(last) + bytes(_choose(chance, last, more))
    waiting = [number for number in last if KINDS[number].waits]
    others = [number for number in last if number not in waiting]
    if gates < len(waiting):
        raise ValueError(f"at least {len(waiting)} gates that wait: one of each kind of story")
    share = sum(KINDS[number].share for number in others) / sum(kind.share for kind in RECENT)
    chosen = _choose(chance, waiting, gates - len(waiting)) + _choose(chance, others, int(more * share))
    chance.shuffle(chosen)
    return bytes(last) + bytes(chosen)


def _choose(chance: random.Random, among: Sequence[int], count: int) -> list[int]:
    weights = list(accumulate(KINDS[number].share for number in among))
    return chance.choices(among, cum_weights=weights, k=count)


def _exactly(chance: random.Random, runs: int, effects: int) -> bytes:
    """So many ended runs that come to exactly so many effects: in their shares, but for the long ones that it takes.

    What is then missing or too much is made up by letting single runs tell a longer or a shorter story.
    """
    usual, long = range(len(ENDED) - 1), len(ENDED) - 1
    weight = sum(ENDED[number].share for number in usual)
    mean = sum(ENDED[number].share * ENDED[number].effects for number in usual) / weight
    many = round(min(max((effects / max(runs, 1) - mean) / (ENDED[long].effects - mean), 0), 1) * runs)
    kinds = _choose(chance, usual, runs - many) + [long] * many
    chance.shuffle(kinds)
    missing = effects - _effects(bytes(kinds))
    for place, number in enumerate(kinds):
        here = ENDED[number].effects
        other = min(_LENGTHS, key=lambda one: abs(missing - ENDED[one].effects + here))
        if missing and abs(missing - ENDED[other].effects + here) < abs(missing):
            kinds[place] = other
            missing -= ENDED[other].effects - here
    if missing:
        raise ValueError(
            f"{runs} ended runs come to 0 to {runs * ENDED[long].effects} effects, not to {effects}"
        )
    return bytes(kinds)


def _until(chance: random.Random, effects: int) -> Iterator[int]:
    """Kinds that come to exactly so many effects."""
    while effects > 0:
        for number in _choose(chance, range(len(ENDED)), min(effects, 10_000)):
            number = number if KINDS[number].effects <= effects else _PLAIN
            effects -= KINDS[number].effects
            if effects >= 0:
                yield number
            if effects <= 0:
                break


def batches(plan: Plan, until: datetime, years: float) -> Iterator[Batch]:
    """Deal the cast out over the years before `until` (UTC, without a zone), the oldest run first."""
    past = len(plan.kinds) - plan.recent
    begin = until - timedelta(days=365.25 * years)
    pace = (until - _SETTLED - begin) / max(past, 1)
    quick = (_RECENT - _FRESH) / plan.recent
    for number in range(0, -(-len(plan.kinds) // BATCH)):
        here = range(number * BATCH, min((number + 1) * BATCH, len(plan.kinds)))
        moments = tuple(
            (begin + pace * at, pace) if at < past else (until - _RECENT + quick * (at - past), quick)
            for at in here
        )
        yield Batch(number, plan.kinds[here.start : here.stop], moments)


def tell(batch: Batch, world: World, seed: int) -> dict[str, bytes]:
    """Tell the stories of a batch; returns what COPY reads, table by table."""
    rows, chance = Rows(batch.number, _named(world)), random.Random(f"{seed}/{batch.number}")
    with connection.execute_wrapper(_refuse):
        for place, (kind, (moment, pace)) in enumerate(zip(batch.kinds, batch.moments, strict=True)):
            cast = KINDS[kind]
            story = Story(
                rows=rows,
                world=world,
                chance=chance,
                id=batch.number * BATCH + place + 1,
                now=moment + pace * chance.random(),
                agent=cast.agent,
                limits=cast.limits,
            )
            cast.tell(story)
            story.close()
    return rows.text()


#: The names that this process has told, for the one world that it tells of.
_told: dict[str, set[str]] = {}


def _named(world: World) -> set[str]:
    if world.name not in _told:
        _told.clear()
    return _told.setdefault(world.name, set())


def _refuse(_execute: object, sql: str, *_: object) -> None:
    """A query of a story's would wait for the tables until they are full, and they for it."""
    raise RuntimeError(f"stories ask no database: {sql[:60]}")
