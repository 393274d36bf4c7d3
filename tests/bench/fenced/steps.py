"""The fair floor of a product: one statement checks the lease, moves the run's cursor and journals the step."""

from __future__ import annotations

from tests.bench import journalling, kit
from tests.bench.limit.steps import SCHEMA

RUNS = """
CREATE TABLE run (id int PRIMARY KEY, cursor int NOT NULL, lease int NOT NULL);
INSERT INTO run SELECT id, 0, 7 FROM generate_series(0, 2000) id
"""
STEP = """
WITH held AS (UPDATE run SET cursor = %(no)s WHERE id = %(run)s AND lease = 7 AND cursor < %(no)s RETURNING id)
INSERT INTO step (run, no, output) SELECT id, %(no)s, %(output)s FROM held RETURNING no
"""


def measure() -> kit.Figures:
    """Steps a second of one run after another, and of several at once, a connection for each."""
    with kit.connect() as connection:
        connection.execute(SCHEMA)
        connection.execute(RUNS)
    return journalling.rates(journal)


def journal(connection: kit.Connection, run: int, count: int) -> None:
    """Make a run of so many steps."""
    for no in range(1, 1 + count):
        assert connection.execute(STEP, {"run": run, "no": no, "output": "{}"}).fetchone()
