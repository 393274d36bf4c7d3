"""It writes no intent by itself: a step before the call does, so that a crash inside it leaves a trace."""

from __future__ import annotations

from typing import Any

from tests.bench import kit
from tests.bench.absurd import engine
from tests.bench.kit import SIZES

_vendor: list[kit.Vendor] = []


def payments(given: dict[str, Any], context: Any) -> None:
    """So many effects, one after the other."""
    for no in range(given["count"]):
        key = f"{given['name']}:{no}"
        context.step(f"intent {no}", lambda key=key: {"key": key, "amount": "0.10", "currency": "EUR"})
        context.step(f"call {no}", lambda key=key: _vendor[0].pay(key))


def measure() -> kit.Figures:
    """Effects a second: intent and outcome are two steps."""
    engine.install()
    client = engine.client({"payments": payments})
    _vendor.append(kit.Vendor())
    _run(client, "warm", 20)
    seconds = kit.timed(lambda: _run(client, "run", SIZES.effects))
    there = kit.one(kit.connect(), "SELECT count(*) FROM absurd.c_default")
    kit.done(there, 2 * (20 + SIZES.effects), "steps of effects")
    return {"a step each": kit.rate(SIZES.effects, seconds)}


def _run(client: Any, name: str, count: int) -> None:
    client.spawn("payments", {"name": name, "count": count})
    client.work_batch()
