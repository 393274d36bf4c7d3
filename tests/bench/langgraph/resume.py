"""The state of the newest checkpoint is loaded, and the node that was under way runs again."""

from __future__ import annotations

import os
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from tests.bench import kit, resuming, text
from tests.bench.langgraph import engine

_begin: list[float] = []


class Talk(TypedDict):
    """How far a run is, where it dies, and what was said."""

    no: int
    last: int
    speaks: bool
    messages: Annotated[list[AnyMessage], add_messages]


def turn(state: Talk) -> dict[str, Any]:
    """One turn. The last one dies; resumed, it reports first."""
    no = state["no"]
    if no == state["last"]:
        kit.done(len(state["messages"]), 2 * no if state["speaks"] else 0, "messages")
        if _begin:
            kit.report(resuming.since(_begin[0]))
        os._exit(kit.DIED)
    return {
        "no": no + 1,
        "messages": messages(no, text.conversation(resuming.TURNS)[no]) if state["speaks"] else [],
    }


def messages(no: int, told: tuple[str, str]) -> list[AnyMessage]:
    """One turn as it keeps messages."""
    return [
        AIMessage(told[0], id=f"said {no}"),
        ToolMessage(told[1], id=f"answered {no}", tool_call_id=str(no)),
    ]


def graph() -> Any:
    """Compile the graph with a saver of its own."""
    made = StateGraph(Talk)
    made.add_node("turn", turn)
    made.add_edge(START, "turn")
    made.add_conditional_edges("turn", lambda state: "turn" if state["no"] <= state["last"] else END)
    return made.compile(checkpointer=engine.saver())


def measure() -> kit.Figures:
    """Milliseconds from a new saver to step N + 1. Nobody recovers a run by itself: it must be invoked again."""
    engine.saver().setup()
    for length in resuming.LENGTHS:
        kit.phase("langgraph.resume", "begin", length, 0)
    kit.phase("langgraph.resume", "begin", resuming.TURNS, 1)
    return resuming.table("langgraph.resume")


def begin(length: str, speaking: str) -> None:
    """Run until it dies in its last step."""
    given = {"no": 0, "last": int(length), "speaks": bool(int(speaking)), "messages": []}
    graph().invoke(given, engine.thread(f"{length}-{speaking}"), durability="sync")


def steps(length: str) -> None:
    """Go on with so many steps."""
    _resume(f"{length}-0")


def conversation(length: str) -> None:
    """Go on with so many turns of a conversation."""
    _resume(f"{length}-1")


def _resume(name: str) -> None:
    _begin.append(kit.now())
    graph().invoke(None, engine.thread(name), durability="sync")
