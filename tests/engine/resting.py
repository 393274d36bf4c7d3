"""Runs at rest: asleep, before people, or ended a month ago; and the steps that bring them there."""

from __future__ import annotations

from typing import Any

from durable.author import Next, RunContext, hours, step
from durable.models import Run
from tests.engine import agents, desk


@step
def nap(self: Any, run: RunContext) -> Next:
    """Sleep an hour."""
    run.sleep(hours(1))
    return None


@step
def write(self: Any, run: RunContext) -> Next:
    """Ask people."""
    run.effect(agents.write_letter, to="ada")
    return None


@step
def rest(self: Any, run: RunContext) -> Next:
    """Nothing."""
    return None


def napping() -> Run:
    """A run that sleeps an hour."""
    agents.define("Napper", nap)
    return desk.drive(agents.start("Napper"))


def gated() -> Run:
    """A run that waits for people."""
    agents.define("Writer", write)
    return desk.drive(agents.start("Writer"))


def ended(count: int) -> list[Run]:
    """Runs of two steps that ended a month ago."""
    runs = [desk.drive(agents.start("Looper", {"turns": 2})) for _ in range(count)]
    desk.time_passes(days=30)
    return runs
