"""Tasks of small steps, one after the other and several at once, a client for each."""

from __future__ import annotations

from typing import Any

from tests.bench import kit
from tests.bench.absurd import engine
from tests.bench.kit import SIZES


def turns(given: dict[str, Any], context: Any) -> int:
    """So many steps that do nothing."""
    for no in range(given["length"]):
        context.step(f"step {no}", lambda no=no: no)
    return int(given["length"])


def measure() -> kit.Figures:
    """Steps a second."""
    engine.install()
    client = engine.client({"turns": turns})
    _run(client)
    begin = kit.now()
    for _ in range(SIZES.runs):
        _run(client)
    alone = kit.now() - begin
    clients = [engine.client({"turns": turns}) for _ in range(SIZES.wide)]
    for _ in clients:
        client.spawn("turns", {"length": SIZES.steps})
    together = kit.at_once(each.work_batch for each in clients)
    there = kit.one(kit.connect(), "SELECT count(*) FROM absurd.c_default")
    kit.done(there, (1 + SIZES.runs + SIZES.wide) * SIZES.steps, "steps")
    return {
        "one run": kit.rate(SIZES.runs * SIZES.steps, alone),
        "many runs": kit.rate(SIZES.wide * SIZES.steps, together),
    }


def _run(client: Any) -> None:
    client.spawn("turns", {"length": SIZES.steps})
    client.work_batch()
