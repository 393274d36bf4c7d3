"""The model's part of the proof: all scenarios with all guards on, each guard off, and the stories."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from proof.model.case import Case
from proof.model.guards import Guard
from proof.model.scenarios import SCENARIOS, SHOWS
from proof.model.search import Found, search
from proof.report import Row, Say

#: With fewer worlds than this something has been left out, and nothing is shown.
FEWEST_WORLDS = 200_000
AGAIN = "python -m proof.model"


def prove(say: Say) -> list[Row]:
    """Search everything. Returns a row for each scenario with all guards on, and one for the guards off.

    Prints a story for each guard: the shortest way in which its lack does harm.
    """
    cases = [case for cases in SCENARIOS.values() for case in cases]
    without = [case.without(guard) for guard, case in SHOWS.items()]
    began = time.monotonic()
    with _workers() as pool:
        found = dict(zip([*cases, *without], pool.map(_search, [*cases, *without]), strict=True))
    seconds = time.monotonic() - began
    rows = [row_on(name, [found[case] for case in cases]) for name, cases in SCENARIOS.items()]
    rows.append(row_of_all([found[case] for case in cases], seconds))
    rows.append(row_off([found[case] for case in without]))
    for guard, case in zip(SHOWS, without, strict=True):
        for line in told(guard, found[case]):
            say(line)
    for case in cases:
        if found[case].wrong:
            for line in told(None, found[case]):
                say(line)
    return rows


def told(guard: Guard | None, found: Found) -> Iterator[str]:
    """Tell a story: the guard that is off, what the world is made of, each step in a line, and what is wrong then."""
    name = "all guards on" if guard is None else f"without {guard.name}: {guard.rule}"
    yield f"{name} ({found.case.name}; {found.case.vendor.name})"
    if not found.wrong:
        yield "   nothing goes wrong"
    for number, line in enumerate(found.story, 1):
        yield f"  {number:2}. {line}"
    if found.wrong:
        yield f"   => {found.wrong}"


def row_on(name: str, found: Sequence[Found]) -> Row:
    """The line of a scenario with all guards on: what was found wrong is a violation."""
    worlds = sum(one.worlds for one in found)
    wrong = tuple(f"{one.case.name}: {one.wrong}" for one in found if one.wrong)
    remark = f"{worlds:,} worlds in {len(found)} cases, no dead end"
    return Row(f"model: {name}, all guards on", worlds, wrong, _seconds(found), remark, AGAIN)


def row_off(found: Sequence[Found]) -> Row:
    """The line of the guards off, one search each: here a violation is that nothing was found wrong."""
    silent = tuple(
        f"nothing goes wrong without {one.case.off.name}" for one in found if one.case.off and not one.wrong
    )
    remark = f"{sum(one.worlds for one in found):,} worlds; a story for each guard"
    return Row("model: each guard off", len(found), silent, _seconds(found), remark, f"{AGAIN} --guard NAME")


def row_of_all(found: Sequence[Found], seconds: float) -> Row:
    """The line that counts: too few worlds show nothing. `seconds` are those of the clock, guards off included."""
    worlds = sum(one.worlds for one in found)
    few = (f"only {worlds:,} worlds; the bounds are too narrow",) if worlds < FEWEST_WORLDS else ()
    remark = f"at least {FEWEST_WORLDS:,}; {_seconds(found):.0f} s of one processor, the clock's beside it"
    return Row("model: worlds in all", worlds, few, seconds, remark, AGAIN)


def _seconds(found: Iterable[Found]) -> float:
    return sum(one.seconds for one in found)


def _search(case: Case) -> Found:
    with _no_collector():
        return search(case)


@contextmanager
def _workers() -> Iterator[ProcessPoolExecutor]:
    """As many processes as the machine has processors; cases know nothing of each other."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield pool


@contextmanager
def _no_collector() -> Iterator[None]:
    """Nothing in a graph of worlds is garbage before its end; looking for it takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
