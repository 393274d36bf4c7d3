"""The search: every world that can be reached, shortest way first. A way to a wrong one is a story.

Breadth-first, so the first wrong world found is as near as any. A dead end is a world from which no end can be
reached any more, whatever people do: found by going backwards from the ends.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from proof.model import oracle, people, vendor, weather, worker
from proof.model.case import Case
from proof.model.world import ENDED, Move, World


class TooMany(RuntimeError):
    """The bounds of a case hold more worlds than can be searched."""


Steps = Callable[[World, Case], Iterator[Move]]


@dataclass(frozen=True, slots=True)
class Found:
    """What a search met: how many worlds, and, where one was wrong, the sentence and the way to it."""

    case: Case
    worlds: int
    wrong: str = ""
    story: tuple[str, ...] = ()
    seconds: float = 0.0  # of processor time


@dataclass(slots=True)
class _Graph:
    """The worlds met so far in order, the world before each, and the worlds that follow it."""

    steps: Steps
    order: list[World] = field(default_factory=list)
    number: dict[World, int] = field(default_factory=dict)
    before: list[int] = field(default_factory=list)
    after: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, world: World, before: int) -> int:
        found = self.number.get(world)
        if found is not None:
            return found
        self.number[world] = len(self.order)
        self.order.append(world)
        self.before.append(before)
        return len(self.order) - 1


def moves(world: World, case: Case) -> Iterator[Move]:
    """Every step that anything in the world may take next."""
    yield from worker.moves(world, case)
    yield from vendor.moves(world, case)
    yield from people.moves(world, case)
    yield from weather.moves(world, case)


def ended(world: World) -> bool:
    """Whether every run has come to an end."""
    return all(run.state in ENDED for run in world.runs)


def search(case: Case, *, steps: Steps = moves, most: int = 2_000_000) -> Found:
    """Search a case to its bounds. Stops at the first wrong world, else looks for dead ends.

    `steps` are the moves that there are, all of them by default.

    Raises TooMany where there are more than `most` worlds: bounds that can't be searched are no bounds.
    """
    began = time.process_time()
    found = _search(case, steps, most)
    return replace(found, seconds=time.process_time() - began)


def _search(case: Case, steps: Steps, most: int) -> Found:
    graph = _Graph(steps)
    graph.add(case.start(), -1)
    here = 0
    while here < len(graph.order):
        following = []
        for _, world in steps(graph.order[here], case):
            known = len(graph.order)
            number = graph.add(world, here)
            following.append(number)
            if number == known:
                wrong = oracle.wrong(world, case)
                if wrong:
                    return Found(case, known + 1, wrong, tuple(_story(graph, number, case)))
        graph.after.append(tuple(following))
        if len(graph.order) > most:
            raise TooMany(f"{case.name}: more than {most:,} worlds")
        here += 1
    return _dead_ends(graph, case)


def _dead_ends(graph: _Graph, case: Case) -> Found:
    """Go backwards from every end; a world that is not met has no way out."""
    backwards: list[list[int]] = [[] for _ in graph.order]
    for here, following in enumerate(graph.after):
        for there in following:
            backwards[there].append(here)
    left = deque(number for number, world in enumerate(graph.order) if ended(world))
    open_ended = [True] * len(graph.order)
    for number in left:
        open_ended[number] = False
    while left:
        for number in backwards[left.popleft()]:
            if open_ended[number]:
                open_ended[number] = False
                left.append(number)
    lost = [number for number, one in enumerate(open_ended) if one]
    if not lost:
        return Found(case, len(graph.order))
    dead = next((number for number in lost if not graph.after[number]), lost[0])
    words = "from here no end can be reached: the run waits for something that never comes"
    return Found(case, len(graph.order), words, tuple(_story(graph, dead, case)))


def _story(graph: _Graph, number: int, case: Case) -> Iterator[str]:
    """The way from the beginning to a world, one line a step."""
    way = [number]
    while graph.before[way[0]] >= 0:
        way.insert(0, graph.before[way[0]])
    for here, there in pairwise(way):
        target = graph.order[there]
        yield next(line for line, world in graph.steps(graph.order[here], case) if world == target)
