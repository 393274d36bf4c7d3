"""Effects that plain SQL keeps: intent, the vendor's call, outcome; one after the other."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench import kit
from tests.bench.kit import SIZES

#: Makes one effect under a key.
Act = Callable[[kit.Connection, kit.Vendor, str], None]


def rates(act: Act) -> kit.Figures:
    """Effects a second. The limit knows no steps, so that both ways of ours are held against the same."""
    vendor = kit.Vendor()
    with kit.connect() as connection:
        for number in range(20):
            act(connection, vendor, f"warm:{number}")
        begin = kit.now()
        for number in range(SIZES.effects):
            act(connection, vendor, f"run:{number}")
        rate = kit.rate(SIZES.effects, kit.now() - begin)
        applied = "SELECT count(*) FROM effect WHERE state = 'applied' AND key LIKE 'run:%%'"
        kit.done(kit.one(connection, applied), SIZES.effects, "effects")
    return {"a step each": rate, "in one step": rate}
