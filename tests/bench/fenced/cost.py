"""What the floor of a product costs."""

from __future__ import annotations

import itertools

from tests.bench import costing, kit
from tests.bench.fenced import effects, steps
from tests.bench.limit.steps import SCHEMA

_numbers = itertools.count()


def measure() -> kit.Figures:
    """As `costing.costs`."""
    with kit.connect() as connection:
        connection.execute(SCHEMA)
        connection.execute(steps.RUNS)
        connection.execute(effects.SCHEMA)
    return costing.costs("step", _steps) | costing.costs("effect", _effects)


def _steps(count: int) -> None:
    with kit.connect() as connection:
        steps.journal(connection, next(_numbers), count)


def _effects(count: int) -> None:
    vendor = kit.Vendor()
    with kit.connect() as connection:
        for _ in range(count):
            effects.act(connection, vendor, f"cost:{next(_numbers)}")
