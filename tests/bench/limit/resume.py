"""The least that a fresh process needs to go on: one row by its key, or all rows of a conversation."""

from __future__ import annotations

from tests.bench import kit, resuming, text

RUNS = """
CREATE TABLE step (run int, no int, output text, PRIMARY KEY (run, no));
CREATE TABLE message (run int, no int, role text, content text, PRIMARY KEY (run, no))
"""


def measure() -> kit.Figures:
    """Milliseconds from the call to the next step, by the number of steps that are done."""
    connection = kit.connect()
    connection.execute(RUNS)
    for steps in resuming.LENGTHS:
        query = "INSERT INTO step SELECT %s, no, '{}' FROM generate_series(1, %s) no"
        connection.execute(query, (steps, steps))
    told = text.conversation(resuming.TURNS)
    rows = [(2 * turn + place, "agent", each[place]) for turn, each in enumerate(told) for place in (0, 1)]
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO message VALUES (0, %s, %s, %s)", rows)
    return resuming.table("limit.resume")


def steps(length: str) -> kit.Figures:
    """In a fresh process: find the newest step."""
    begin = kit.now()
    connection = kit.connect()
    newest = "SELECT no FROM step WHERE run = %s ORDER BY no DESC LIMIT 1"
    kit.done(kit.one(connection, newest, int(length)), int(length), "steps")
    return resuming.since(begin)


def conversation(turns: str) -> kit.Figures:
    """In a fresh process: read what was said."""
    begin = kit.now()
    rows = kit.connect().execute("SELECT role, content FROM message WHERE run = 0 ORDER BY no").fetchall()
    kit.done(len(rows), 2 * int(turns), "messages")
    return resuming.since(begin)
