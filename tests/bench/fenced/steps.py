"""The fair floor of a product: one statement checks the lease, moves the run's cursor and journals the step."""

from __future__ import annotations

from functools import partial

from tests.bench import kit
from tests.bench.kit import SIZES
from tests.bench.limit import steps

RUNS = """
CREATE TABLE run (id int PRIMARY KEY, cursor int NOT NULL, lease int NOT NULL);
INSERT INTO run SELECT id, 0, 7 FROM generate_series(0, 2000) id
"""
STEP = """
WITH held AS (UPDATE run SET cursor = %(no)s WHERE id = %(run)s AND lease = 7 AND cursor < %(no)s RETURNING id)
INSERT INTO step (run, no, output) SELECT id, %(no)s, %(output)s FROM held RETURNING no
"""


def measure() -> kit.Figures:
    """As `limit.steps`."""
    connection = kit.connect()
    connection.execute(steps.SCHEMA)
    connection.execute(RUNS)
    _steps(connection, 0)
    alone = kit.timed(lambda: [_steps(connection, run) for run in range(1, 1 + SIZES.runs)])
    connections = [kit.connect() for _ in range(SIZES.wide)]
    for place in connections:
        place.execute("SELECT 1")
    together = kit.at_once(partial(_steps, place, 1_000 + each) for each, place in enumerate(connections))
    runs = 1 + SIZES.runs + SIZES.wide
    kit.done(kit.one(connection, "SELECT count(*) FROM step"), runs * SIZES.steps, "steps")
    return {
        "one run": kit.rate(SIZES.runs * SIZES.steps, alone),
        "many runs": kit.rate(SIZES.wide * SIZES.steps, together),
    }


def _steps(connection: kit.Connection, run: int) -> None:
    for no in range(1, 1 + SIZES.steps):
        assert connection.execute(STEP, {"run": run, "no": no, "output": "{}"}).fetchone()
