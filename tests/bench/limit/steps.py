"""The least that makes a step durable: one INSERT that commits. No lease, no cursor, no plan."""

from __future__ import annotations

from tests.bench import journalling, kit

SCHEMA = (
    "CREATE TABLE step (run int, no int, output text, at timestamptz DEFAULT now(), PRIMARY KEY (run, no))"
)


def measure() -> kit.Figures:
    """Steps a second of one run after another, and of several at once, a connection for each."""
    with kit.connect() as connection:
        connection.execute(SCHEMA)
    return journalling.rates(insert)


def insert(connection: kit.Connection, run: int, count: int) -> None:
    """Make a run of so many steps."""
    for no in range(1, 1 + count):
        connection.execute("INSERT INTO step (run, no, output) VALUES (%s, %s, %s)", (run, no, "{}"))
