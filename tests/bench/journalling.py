"""Runs of steps that plain SQL journals: one after the other, and several at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.bench import kit
from tests.bench.kit import SIZES

#: Makes a run of so many steps on a connection: the run's number, then the count.
Journal = Callable[[kit.Connection, int, int], None]
_WARM, _FIRST_WIDE = 0, 1_000


def rates(journal: Journal) -> kit.Figures:
    """Steps a second, of one run after another on one connection, and of several at once on a connection each."""
    with kit.connect() as connection:
        journal(connection, _WARM, SIZES.steps)
        begin = kit.now()
        for run in range(1, 1 + SIZES.runs):
            journal(connection, run, SIZES.steps)
        alone = kit.now() - begin
    connections = [kit.connect() for _ in range(SIZES.wide)]
    for place in connections:
        place.execute("SELECT 1")
    together = kit.at_once(
        partial(journal, place, _FIRST_WIDE + each, SIZES.steps) for each, place in enumerate(connections)
    )
    there = kit.one(connections[0], "SELECT count(*) FROM step")
    kit.done(there, (1 + SIZES.runs + SIZES.wide) * SIZES.steps, "steps")
    return {
        "one run": kit.rate(SIZES.runs * SIZES.steps, alone),
        "many runs": kit.rate(SIZES.wide * SIZES.steps, together),
    }
