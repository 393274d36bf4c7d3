"""The least that makes a step durable: one INSERT that commits. No lease, no cursor, no plan."""

from __future__ import annotations

from functools import partial

from tests.bench import kit
from tests.bench.kit import SIZES

SCHEMA = """CREATE TABLE step (run int, no int, output text, at timestamptz DEFAULT now(), PRIMARY KEY (run, no))"""


def measure() -> kit.Figures:
    """Steps a second of one run after another, and of several at once, a connection for each."""
    connection = kit.connect()
    connection.execute(SCHEMA)
    _steps(connection, 0)
    alone = kit.timed(lambda: [_steps(connection, run) for run in range(1, 1 + SIZES.runs)])
    connections = [kit.connect() for _ in range(SIZES.wide)]
    for each, place in enumerate(connections):
        place.execute(
            "INSERT INTO step VALUES (%s, -1, '')", (1_000 + each,)
        )  # its first statement is not counted
    together = kit.at_once(partial(_steps, place, 1_000 + each) for each, place in enumerate(connections))
    runs = 1 + SIZES.runs + SIZES.wide
    kit.done(kit.one(connection, "SELECT count(*) FROM step WHERE no >= 0"), runs * SIZES.steps, "steps")
    return {
        "one run": kit.rate(SIZES.runs * SIZES.steps, alone),
        "many runs": kit.rate(SIZES.wide * SIZES.steps, together),
    }


def _steps(connection: kit.Connection, run: int) -> None:
    for no in range(SIZES.steps):
        connection.execute("INSERT INTO step (run, no, output) VALUES (%s, %s, %s)", (run, no, "{}"))
