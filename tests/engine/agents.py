"""Small agents, and the small world that they act on, for tests that are about the engine and not about a vendor."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import BaseModel, Field

from durable import faults, plan, runs
from durable.author import (
    Absent,
    Agent,
    Budget,
    Call,
    LookupAnswer,
    Money,
    Next,
    Receipt,
    RunContext,
    hours,
    seconds,
    step,
    tool,
)
from durable.models import Run

#: What the tools below were asked, in order; cleared by `world` for each test.
asked: list[tuple[str, Any]] = []
#: What moved, by key: a vendor that honours keys and can be asked.
moved: dict[str, Receipt] = {}
_lock = Lock()


@contextmanager
def world() -> Iterator[None]:
    """An empty world, without armed faults."""
    known = dict(plan.agents())
    asked.clear()
    moved.clear()
    faults.disarm_all()
    try:
        yield
    finally:
        faults.disarm_all()
        plan._agents.clear()
        plan._agents.update(known)


#: Runs in the vendor's place, before it acts or answers: a test's own doings meanwhile.
meanwhile: list[Callable[[Call], None]] = []


@tool(idempotent_for=hours(24), money="amount", vendor="test bank", subject="order")
def pay(call: Call, order: str, amount: Decimal, currency: str) -> Receipt:
    """Move money, once a key."""
    with _lock:
        asked.append((call.key, str(amount)))
        receipt = moved.setdefault(
            call.key, Receipt(f"re_{call.key}", amount=amount, currency=currency, key=call.key)
        )
    while meanwhile:
        meanwhile.pop()(call)
    return receipt


@pay.lookup
def find_payment(call: Call) -> LookupAnswer:
    """Find what moved under our key."""
    return moved.get(call.key, Absent())


@tool(idempotent_for=hours(24), vendor="test notes")
def jot(call: Call, text: str) -> Receipt:
    """Honours keys and moves no money: nobody is asked, and no policy has anything to look up."""
    return Receipt(f"note {call.key}", key=call.key)


@tool(vendor="test mail")
def write_letter(call: Call, to: str) -> Receipt:
    """Declares nothing, so people are asked first, every time."""
    asked.append((call.key, to))
    return Receipt(f"letter {call.key}", key=call.key)


@tool(reads=True, freshness=seconds(60))
def read_price(sku: str) -> dict[str, Any]:
    """A read that ages; each one finds another price."""
    asked.append(("price", sku))
    return {"sku": sku, "price": len(asked)}


def think(request: Any) -> tuple[Any, int]:
    """A model that costs 10 tokens a call."""
    asked.append(("model", request))
    return {"answer": f"thought {len(asked)}"}, 10


class Turns(BaseModel, extra="forbid"):
    """How often a Looper goes round."""

    turns: int = Field(default=3, ge=1)
    words: str = ""


class Looper(Agent):
    """Goes round and round without touching the world."""

    Input = Turns

    @step
    def turn(self, run: RunContext) -> Next:
        """Say something and count."""
        run.state["turns"] = run.state.get("turns", 0) + 1
        if run.input["words"]:
            run.say("agent", run.input["words"])
        return self.turn if run.state["turns"] < run.input["turns"] else None


class Walker(Agent):
    """Reads, thinks, pays, says: one of everything that a checkpoint must carry."""

    budget = Budget(steps=50, tokens=1_000, money=Money(100, "EUR"), deadline=hours(6))

    @step
    def look(self, run: RunContext) -> Next:
        """Read and think."""
        run.state["price"] = run.call(read_price, sku="MUG")["price"]
        run.say("customer", "Where is my money?")
        run.state["plan"] = run.model(think, {"q": "what now"}, tokens=50)["answer"]
        return self.act

    @step
    def act(self, run: RunContext) -> Next:
        """Pay."""
        _note("act")
        run.say("agent", "On its way.")
        run.state["receipt"] = run.effect(pay, order="1", amount=Decimal(40), currency="EUR").id
        return self.tell

    @step
    def tell(self, run: RunContext) -> Next:
        """Say what was seen."""
        run.result = {**run.state, "said": [one["content"] for one in run.messages]}
        return None


class Minder(Agent):
    """Reads, thinks, and reads once more: what it has thought is on record before its step is done."""

    budget = Budget(tokens=1_000)

    @step
    def look(self, run: RunContext) -> Next:
        """Read, think and read."""
        run.call(read_price, sku="MUG")
        thought = run.model(think, {"q": "what now"}, tokens=50)["answer"]
        run.call(read_price, sku="CUP")
        run.result = thought
        return None


def _note(word: str) -> None:
    """Leave a mark outside of the database, where the test's processes meet."""
    path = os.environ.get("INTERLOCK_TEST_NOTES")
    if path:
        with Path(path).open("a") as notes:
            notes.write(json.dumps([word, os.getpid()]) + "\n")


def define(name: str, *steps: Any, **attributes: Any) -> type[Agent]:
    """An agent of the given steps (functions marked with `@step`), in place of an older one of that name."""
    made: type[Agent] = type(name, (Agent,), {function.__name__: function for function in steps} | attributes)
    return made


def start(name: str, input: Any = None, **more: Any) -> Run:
    """Start a run of an agent."""
    return runs.start(name, {} if input is None else input, actor="tests", **more)


def run_of(*steps: Any, **attributes: Any) -> Run:
    """Start a run of an agent that has these steps."""
    define("Tried", *steps, **{"budget": Walker.budget, **attributes})
    return start("Tried")
