"""The least that an effect needs: its intent committed, the vendor asked, the outcome committed."""

from __future__ import annotations

import json

from tests.bench import kit, paying
from tests.bench.kit import SIZES

SCHEMA = (
    "CREATE TABLE effect (key text PRIMARY KEY, state text NOT NULL, request text NOT NULL, receipt text)"
)
REQUEST = json.dumps({"amount": "0.10", "currency": "EUR"})
_INTENT = "INSERT INTO effect (key, state, request) VALUES (%s, 'pending', %s)"
_OUTCOME = "UPDATE effect SET state = 'applied', receipt = %s WHERE key = %s"


def measure() -> kit.Figures:
    """Effects a second, and the vendor's call alone in milliseconds."""
    with kit.connect() as connection:
        connection.execute(SCHEMA)
    vendor = kit.Vendor()
    call = kit.timed(lambda: [vendor.pay(f"call:{number}") for number in range(SIZES.effects)])
    return paying.rates(act) | {"call alone": call / SIZES.effects * 1e3}


def act(connection: kit.Connection, vendor: kit.Vendor, key: str) -> None:
    """Pay once."""
    connection.execute(_INTENT, (key, REQUEST))
    receipt = vendor.pay(key)
    connection.execute(_OUTCOME, (json.dumps(receipt), key))
