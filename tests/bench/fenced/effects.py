"""An effect whose two commits check that this worker still holds the run; the second one moves the run's cursor."""

from __future__ import annotations

import json

from tests.bench import kit, paying
from tests.bench.limit.effects import REQUEST

SCHEMA = """
CREATE TABLE payer (id int PRIMARY KEY, cursor int NOT NULL, lease int NOT NULL);
INSERT INTO payer VALUES (1, 0, 7);
CREATE TABLE effect (key text PRIMARY KEY, run int NOT NULL, state text NOT NULL, request text NOT NULL, receipt text)
"""
_INTENT = """
INSERT INTO effect (key, run, state, request)
SELECT %(key)s, id, 'pending', %(request)s FROM payer WHERE id = 1 AND lease = 7 FOR NO KEY UPDATE RETURNING key
"""
_OUTCOME = """
WITH applied AS (
    UPDATE effect SET state = 'applied', receipt = %(receipt)s WHERE key = %(key)s AND state = 'pending' RETURNING run
)
UPDATE payer SET cursor = cursor + 1 FROM applied WHERE payer.id = applied.run AND lease = 7 RETURNING cursor
"""


def measure() -> kit.Figures:
    """Effects a second."""
    with kit.connect() as connection:
        connection.execute(SCHEMA)
    return paying.rates(act)


def act(connection: kit.Connection, vendor: kit.Vendor, key: str) -> None:
    """Pay once."""
    assert connection.execute(_INTENT, {"key": key, "request": REQUEST}).fetchone()
    receipt = json.dumps(vendor.pay(key))
    assert connection.execute(_OUTCOME, {"key": key, "receipt": receipt}).fetchone()
