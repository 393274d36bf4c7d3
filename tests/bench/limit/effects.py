"""The least that an effect needs: its intent committed, the vendor asked, the outcome committed."""

from __future__ import annotations

import json

from tests.bench import kit
from tests.bench.kit import SIZES

SCHEMA = (
    "CREATE TABLE effect (key text PRIMARY KEY, state text NOT NULL, request text NOT NULL, receipt text)"
)
INTENT = "INSERT INTO effect (key, state, request) VALUES (%s, 'pending', %s)"
OUTCOME = "UPDATE effect SET state = 'applied', receipt = %s WHERE key = %s"
REQUEST = json.dumps({"amount": "0.10", "currency": "EUR"})


def measure() -> kit.Figures:
    """Effects a second, and the vendor's call alone in milliseconds."""
    connection, vendor = kit.connect(), kit.Vendor()
    connection.execute(SCHEMA)

    def act(name: str) -> None:
        connection.execute(INTENT, (name, REQUEST))
        receipt = vendor.pay(name)
        connection.execute(OUTCOME, (json.dumps(receipt), name))

    for number in range(20):
        act(f"warm:{number}")
    call = kit.timed(lambda: [vendor.pay(f"call:{number}") for number in range(SIZES.effects)])
    seconds = kit.timed(lambda: [act(f"run:{number}") for number in range(SIZES.effects)])
    applied = kit.one(connection, "SELECT count(*) FROM effect WHERE state = 'applied' AND key LIKE 'run:%%'")
    kit.done(applied, SIZES.effects, "effects")
    rate = kit.rate(SIZES.effects, seconds)
    return {"a step each": rate, "in one step": rate, "call alone": call / SIZES.effects * 1e3}
