"""It writes no intent by itself: a step before the call does, so that a crash inside it leaves a trace."""

from __future__ import annotations

from typing import Any

from dbos import DBOS

from tests.bench import kit
from tests.bench.dbos import engine
from tests.bench.kit import SIZES

_vendor: list[kit.Vendor] = []


@DBOS.step()
def intend(key: str) -> dict[str, str]:
    """Say what is about to be done."""
    return {"key": key, "amount": "0.10", "currency": "EUR"}


@DBOS.step()
def pay(key: str) -> dict[str, Any]:
    """Do it."""
    return _vendor[0].pay(key)


@DBOS.workflow()
def payments(name: str, count: int) -> None:
    """So many effects, one after the other."""
    for no in range(count):
        intend(f"{name}:{no}")
        pay(f"{name}:{no}")


def measure() -> kit.Figures:
    """Effects a second: intent and outcome are two steps."""
    engine.launch()
    _vendor.append(kit.Vendor())
    payments("warm", 20)
    seconds = kit.timed(lambda: payments("run", SIZES.effects))
    there = kit.one(
        kit.connect(), "SELECT count(*) FROM dbos.operation_outputs WHERE function_name LIKE '%%pay'"
    )
    kit.done(there, 20 + SIZES.effects, "effects")
    return {"a step each": kit.rate(SIZES.effects, seconds)}
