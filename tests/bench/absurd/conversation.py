"""What the model said and what the tool answered are the results of two steps."""

from __future__ import annotations

from typing import Any

from tests.bench import conversing, kit, text
from tests.bench.absurd import engine
from tests.bench.meter import Meter

_begun: list[float] = []


def talk(given: dict[str, Any], context: Any) -> int:
    """So many turns."""
    told = text.conversation(conversing.TURNS)
    for no in range(given["turns"]):
        _begun.append(kit.now())
        for place in (0, 1):
            context.step(f"{no}.{place}", lambda no=no, place=place: told[no][place])
    return int(given["turns"])


def measure() -> kit.Figures:
    """What a conversation costs."""
    told = text.conversation(conversing.TURNS)
    engine.install()
    client = engine.client({"talk": talk})
    client.spawn("talk", {"turns": 2})
    client.work_batch()
    _begun.clear()
    client.spawn("talk", {"turns": len(told)})
    meter = Meter()
    client.work_batch()
    _begun.append(kit.now())
    return conversing.figures(told, meter, _begun)
