"""A model's node and a tool's node; messages are added to the state, which each checkpoint holds whole."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from tests.bench import conversing, kit, text
from tests.bench.langgraph import engine
from tests.bench.meter import Meter

_begun: list[float] = []


class Talk(TypedDict):
    """How far a run is, how far it goes, and what was said."""

    no: int
    turns: int
    messages: Annotated[list[AnyMessage], add_messages]


def think(state: Talk) -> dict[str, Any]:
    """The model's words."""
    _begun.append(kit.now())
    no = state["no"]
    return {"messages": [AIMessage(text.conversation(conversing.TURNS)[no][0], id=f"said {no}")]}


def act(state: Talk) -> dict[str, Any]:
    """The tool's answer."""
    no = state["no"]
    answer = ToolMessage(
        text.conversation(conversing.TURNS)[no][1], id=f"answered {no}", tool_call_id=str(no)
    )
    return {"messages": [answer], "no": no + 1}


def measure() -> kit.Figures:
    """What a conversation costs."""
    engine.saver().setup()
    made = StateGraph(Talk)
    made.add_node("think", think)
    made.add_node("act", act)
    made.add_edge(START, "think")
    made.add_edge("think", "act")
    made.add_conditional_edges("act", lambda state: "think" if state["no"] < state["turns"] else END)
    graph = made.compile(checkpointer=engine.saver())
    told = text.conversation(conversing.TURNS)
    _run(graph, "warm", 2)
    _begun.clear()
    meter = Meter()
    _run(graph, "run", len(told))
    _begun.append(kit.now())
    return conversing.figures(told, meter, _begun)


def _run(graph: Any, name: str, turns: int) -> None:
    graph.invoke({"no": 0, "turns": turns, "messages": []}, engine.thread(name), durability="sync")
