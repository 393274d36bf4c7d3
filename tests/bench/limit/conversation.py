"""Each message a row, and the run's row that names the newest: two statements, one commit."""

from __future__ import annotations

from tests.bench import conversing, kit, text
from tests.bench.meter import Meter

SCHEMA = """
CREATE TABLE run (id int PRIMARY KEY, cursor int NOT NULL);
CREATE TABLE message (run int, no int, role text, content text, PRIMARY KEY (run, no));
INSERT INTO run VALUES (1, 0)
"""


def measure() -> kit.Figures:
    """What a conversation costs, stored and written, and its turns early and late."""
    connection = kit.connect()
    connection.execute(SCHEMA)
    told = text.conversation(conversing.TURNS)
    meter, begun, no = Meter(), [], 0
    for said, answered in told:
        begun.append(kit.now())
        for role, words in (("agent", said), ("tool", answered)):
            no += 1
            with connection.transaction():
                connection.execute("INSERT INTO message VALUES (1, %s, %s, %s)", (no, role, words))
                connection.execute("UPDATE run SET cursor = %s WHERE id = 1", (no,))
    begun.append(kit.now())
    kit.done(kit.one(connection, "SELECT count(*) FROM message"), 2 * len(told), "messages")
    return conversing.figures(told, meter, begun)
