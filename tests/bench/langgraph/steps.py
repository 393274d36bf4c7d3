"""Graphs of one small node that goes round: one after the other, and several at once, a saver for each."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from tests.bench import kit
from tests.bench.kit import SIZES
from tests.bench.langgraph import engine

_numbers = itertools.count()


class Count(TypedDict):
    """How far a run is."""

    no: int


def turn(state: Count) -> Count:
    """Count."""
    return {"no": state["no"] + 1}


def graph() -> Any:
    """Compile the graph with a saver of its own."""
    made = StateGraph(Count)
    made.add_node("turn", turn)
    made.add_edge(START, "turn")
    made.add_conditional_edges("turn", lambda state: "turn" if state["no"] < SIZES.steps else END)
    return made.compile(checkpointer=engine.saver())


def measure() -> kit.Figures:
    """Steps a second, each durable before the next one, or in the background."""
    engine.saver().setup()
    runs = graph()
    found = {name: _alone(runs, mode) for name, mode in (("one run", "sync"), ("one run, async", "async"))}
    together = kit.at_once(partial(_run, graph(), "sync") for _ in range(SIZES.wide))
    there = kit.one(kit.connect(), "SELECT count(*) FROM checkpoints WHERE metadata->>'step' <> '-1'")
    # One before the first step, and one for each.
    kit.done(there, (2 + 2 * SIZES.runs + SIZES.wide) * (SIZES.steps + 1), "checkpoints")
    return found | {"many runs": kit.rate(SIZES.wide * SIZES.steps, together)}


def _alone(runs: Any, mode: str) -> float:
    _run(runs, mode)
    begin = kit.now()
    for _ in range(SIZES.runs):
        _run(runs, mode)
    return kit.rate(SIZES.runs * SIZES.steps, kit.now() - begin)


def _run(runs: Any, mode: str) -> None:
    runs.invoke({"no": 0}, engine.thread(str(next(_numbers))), durability=mode)
