"""It writes no intent by itself: a node before the call does, so that a crash inside it leaves a trace."""

from __future__ import annotations

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from tests.bench import kit
from tests.bench.kit import SIZES
from tests.bench.langgraph import engine

_vendor: list[kit.Vendor] = []


class Payments(TypedDict):
    """How far a run is, how far it goes, and what it was answered last."""

    no: int
    count: int
    name: str
    receipt: dict[str, Any]


def intend(state: Payments) -> dict[str, Any]:
    """Say what is about to be done."""
    return {"receipt": {"key": f"{state['name']}:{state['no']}", "amount": "0.10", "currency": "EUR"}}


def pay(state: Payments) -> dict[str, Any]:
    """Do it."""
    return {"receipt": _vendor[0].pay(f"{state['name']}:{state['no']}"), "no": state["no"] + 1}


def measure() -> kit.Figures:
    """Effects a second: intent and outcome are two nodes."""
    engine.saver().setup()
    _vendor.append(kit.Vendor())
    made = StateGraph(Payments)
    made.add_node("intend", intend)
    made.add_node("pay", pay)
    made.add_edge(START, "intend")
    made.add_edge("intend", "pay")
    made.add_conditional_edges("pay", lambda state: "intend" if state["no"] < state["count"] else END)
    graph = made.compile(checkpointer=engine.saver())
    _run(graph, "warm", 20)
    seconds = kit.timed(lambda: _run(graph, "run", SIZES.effects))
    there = kit.one(
        kit.connect(), "SELECT max((metadata->>'step')::int) FROM checkpoints WHERE thread_id = 'run'"
    )
    kit.done(there, 2 * SIZES.effects, "super-steps")
    return {"a step each": kit.rate(SIZES.effects, seconds)}


def _run(graph: Any, name: str, count: int) -> None:
    given = {"no": 0, "count": count, "name": name, "receipt": {}}
    graph.invoke(given, engine.thread(name), durability="sync")
