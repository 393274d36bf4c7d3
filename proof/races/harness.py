"""Two or more want the same thing at the same moment, over and over, each on a connection of its own.

A `Race` says what is prepared, who contends, and what must be true afterwards. Its rounds begin at a barrier; whoever
has won is held back a little in the next one, so that the rounds gather where the race is undecided, and both orders
are met. Its `Control` is the same race without its guard: there the damage must be seen, or the race shows nothing.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import connection

from durable.errors import InterlockError
from proof.races.ground import Ground
from proof.report import Row

#: Seconds that the slowest of a round may take.
PATIENCE = 30.0
#: Rounds of a control that are prepared and played at a time.
_CHUNK = 5
#: Rounds from which on a race that always went one way is a violation.
_ENOUGH = 50
#: Seconds by which a winner is held back, doubled up to so many times, and at most.
_STEP, _MOST_STEPS, _LONGEST = 0.001, 16.0, 0.1

Item = Any
Act = Callable[[Item], object]


class Beaten(Exception):
    """A contender got nothing. The message is what it was told."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one contender got: whether it won, what it was told, and the error that nobody had foreseen."""

    won: bool
    words: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Played:
    """One round that is over, and the way that it went."""

    item: Item
    outcomes: Mapping[str, Outcome]
    side: str = ""

    @property
    def winners(self) -> list[str]:
        return sorted(name for name, outcome in self.outcomes.items() if outcome.won)


Judge = Callable[[Ground, Sequence[Played]], Iterable[str]]


def winners(played: Played) -> str:
    """The side of a race whose contenders exclude each other."""
    return " and ".join(played.winners) or "nobody"


@dataclass(frozen=True)
class Control:
    """The same race without its guard. `guard` says in words what is taken out, `out` takes it out for a block.

    Where the damage would need luck, other `contenders` meet at the worst moment on purpose.
    """

    guard: str
    out: Callable[[], AbstractContextManager[object]]
    contenders: Mapping[str, Act] | None = None


@dataclass(frozen=True)
class Race:
    """`judge` gets all rounds of a race at once and yields a sentence for each thing that should not be.

    `side` names the way that a round went, before it is judged; `sides` are those that should be met, each with the
    contender that was ahead then. `arrange` is called before each round. A race that is `alone` acts on all rows
    there are.
    """

    name: str
    prepare: Callable[[Ground, int], Sequence[Item]]
    contenders: Mapping[str, Act]
    judge: Judge
    control: Control
    sides: Mapping[str, str] = field(default_factory=dict)
    side: Callable[[Played], str] = winners
    arrange: Callable[[Item], object] = id
    alone: bool = False


class Line:
    """The contenders of one race, each in a thread and on a connection of its own, from one round to the next."""

    def __init__(self, race: Race, contenders: Mapping[str, Act]) -> None:
        self.race, self.contenders = race, contenders
        self._ready = threading.Barrier(len(contenders) + 1)
        self._done = threading.Barrier(len(contenders) + 1)
        self._item: Item = None
        self._over = False
        self._got: dict[str, Outcome] = {}
        self._held = dict.fromkeys(contenders, 0.0)
        self._last = ""
        self._row = 0
        self._threads = [
            threading.Thread(target=self._serve, args=(name, act), name=f"race: {name}", daemon=True)
            for name, act in contenders.items()
        ]

    def __enter__(self) -> Line:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._ready.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)

    def play(self, item: Item) -> Played:
        """One round."""
        self.race.arrange(item)
        self._item, self._got = item, {}
        self._ready.wait(PATIENCE)
        self._done.wait(PATIENCE)
        played = Played(item, self._got)
        played = replace(played, side=self.race.side(played))
        self._balance(self.race.sides.get(played.side, ""))
        return played

    def _balance(self, ahead: str) -> None:
        """Hold back who was ahead, more each time in a row, and let the others come earlier again."""
        self._row = self._row + 1 if ahead == self._last else 0
        self._last = ahead
        step = _STEP * min(2.0**self._row, _MOST_STEPS) * random.uniform(0.2, 1.0)  # chance, not a secret
        for name in self.contenders:
            held = self._held[name] + (step if name == ahead else -step)
            self._held[name] = min(max(held, 0.0), _LONGEST)

    def _serve(self, name: str, act: Act) -> None:
        try:
            connection.ensure_connection()
            while True:
                self._ready.wait(PATIENCE)
                if self._over:
                    return
                time.sleep(self._held[name] * random.uniform(0.8, 1.2))
                self._got[name] = _outcome(act, self._item)
                self._done.wait(PATIENCE)
        finally:
            connection.close()


def _outcome(act: Act, item: Item) -> Outcome:
    try:
        return Outcome(True, str(act(item)))
    except (Beaten, InterlockError) as lost:
        return Outcome(False, str(lost))
    except Exception as error:
        return Outcome(False, error=f"{type(error).__name__}: {error}".strip())


def play(race: Race, ground: Ground, rounds: int, contenders: Mapping[str, Act]) -> list[Played]:
    """Play so many rounds, one after the other."""
    items = race.prepare(ground, rounds)
    with _quick_switches(), Line(race, contenders) as line:
        return [line.play(item) for item in items]


@contextmanager
def _quick_switches() -> Iterator[None]:
    """Python's threads change places often, as processes would: no contender runs on for five milliseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def prove(race: Race, ground: Ground, rounds: int) -> Row:
    """Run a race and its control."""
    began = time.monotonic()
    played = play(race, ground, rounds, race.contenders)
    wrong = [
        f"{name}: {outcome.error}"
        for one in played
        for name, outcome in one.outcomes.items()
        if outcome.error
    ]
    wrong += race.judge(ground, played)
    went = Counter(one.side for one in played)
    if rounds >= _ENOUGH:
        wrong += [
            f"in {rounds} rounds it never went the way of {side!r}" for side in race.sides if not went[side]
        ]
    seen = damage(race, ground, rounds)
    if seen is None:
        wrong.append(
            f"its control shows nothing: without {race.control.guard}, {rounds} rounds did no damage"
        )
    told = ", ".join(f"{side} {count}" for side, count in sorted(went.items()))
    control = f"damage in round {seen[0]} ({seen[1]})" if seen else "no damage"
    return Row(
        race.name,
        rounds,
        tuple(wrong),
        time.monotonic() - began,
        f"{told}; without {race.control.guard}: {control}",
        f"python -m proof.races --rounds {rounds} --only '{race.name}'",
    )


def damage(race: Race, ground: Ground, rounds: int) -> tuple[int, str] | None:
    """Play a race without its guard. Returns the first round that did damage, and what damage; None if none did.

    A round in which a second guard stopped a contender with an error does not count.
    """
    for first in range(0, rounds, _CHUNK):
        with race.control.out():
            played = play(race, ground, _CHUNK, race.control.contenders or race.contenders)
        for number, one in enumerate(played, first + 1):
            if any(outcome.error for outcome in one.outcomes.values()):
                continue
            for sentence in race.judge(ground, [one]):
                return number, sentence
    return None
