"""What a step, and a step with an effect, cost in synchronous mode."""

from __future__ import annotations

from functools import partial

from django.db import connection

from tests.bench import costing, kit
from tests.bench.ours import engine


def measure() -> kit.Figures:
    """As `costing.costs`. The heartbeat's connection says nothing in so short a run."""
    found: kit.Figures = {}
    for kind, agent in (("step", "bench steps"), ("effect", "bench payments, a step each")):
        found |= costing.costs(kind, partial(_drive, agent))
    return found


def _drive(agent: str, count: int) -> None:
    engine.drive(agent, count)
    connection.close()
