"""An effect whose two commits check that this worker still holds the run; the second one moves the run's cursor."""

from __future__ import annotations

import json

from tests.bench import kit
from tests.bench.kit import SIZES
from tests.bench.limit.effects import REQUEST

SCHEMA = """
CREATE TABLE run (id int PRIMARY KEY, cursor int NOT NULL, lease int NOT NULL);
INSERT INTO run VALUES (1, 0, 7);
CREATE TABLE effect (key text PRIMARY KEY, run int NOT NULL, state text NOT NULL, request text NOT NULL, receipt text)
"""
INTENT = """
INSERT INTO effect (key, run, state, request)
SELECT %(key)s, id, 'pending', %(request)s FROM run WHERE id = 1 AND lease = 7 FOR NO KEY UPDATE RETURNING key
"""
OUTCOME = """
WITH applied AS (
    UPDATE effect SET state = 'applied', receipt = %(receipt)s WHERE key = %(key)s AND state = 'pending' RETURNING run
)
UPDATE run SET cursor = cursor + 1 FROM applied WHERE run.id = applied.run AND lease = 7 RETURNING cursor
"""


def measure() -> kit.Figures:
    """As `limit.effects`."""
    connection, vendor = kit.connect(), kit.Vendor()
    connection.execute(SCHEMA)

    def act(name: str) -> None:
        assert connection.execute(INTENT, {"key": name, "request": REQUEST}).fetchone()
        receipt = json.dumps(vendor.pay(name))
        assert connection.execute(OUTCOME, {"key": name, "receipt": receipt}).fetchone()

    for number in range(20):
        act(f"warm:{number}")
    seconds = kit.timed(lambda: [act(f"run:{number}") for number in range(SIZES.effects)])
    applied = kit.one(connection, "SELECT count(*) FROM effect WHERE state = 'applied' AND key LIKE 'run:%%'")
    kit.done(applied, SIZES.effects, "effects")
    rate = kit.rate(SIZES.effects, seconds)
    return {"a step each": rate, "in one step": rate}
