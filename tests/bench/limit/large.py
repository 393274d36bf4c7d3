"""Each message a row; a small step is one too."""

from __future__ import annotations

from tests.bench import kit, lengthening

SCHEMA = "CREATE TABLE message (run int, no int, role text, content text, PRIMARY KEY (run, no))"


def measure() -> kit.Figures:
    """Small rows before and after the large ones, and reading them all."""
    connection = kit.connect()
    connection.execute(SCHEMA)

    def say(first: int, count: int, words: str) -> list[float]:
        moments = []
        for no in range(first, first + count):
            moments.append(kit.now())
            connection.execute("INSERT INTO message VALUES (1, %s, 'agent', %s)", (no, words))
        return moments

    before = say(0, lengthening.SMALL, "{}")
    say(1_000, lengthening.MESSAGES, lengthening.message())
    after = say(2_000, lengthening.SMALL, "{}")
    begin = kit.now()
    rows = connection.execute("SELECT role, content FROM message WHERE run = 1 ORDER BY no").fetchall()
    reading = kit.now() - begin
    kit.done(len(rows), 2 * lengthening.SMALL + lengthening.MESSAGES, "messages")
    return lengthening.figures(before, after, reading)
