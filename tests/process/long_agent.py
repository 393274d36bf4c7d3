"""An agent with many steps, for what happens to it in mid-run. Workers of a test import it by INTERLOCK_AGENTS."""

from __future__ import annotations

import time
from decimal import Decimal

from pydantic import BaseModel, Field

from durable.author import Agent, Budget, Money, Next, RunContext, step
from proof.four_refunds import refund_part


class Parts(BaseModel, extra="forbid"):
    """A charge that is given back bit by bit."""

    order: str
    charge: str
    parts: int = Field(ge=1)
    pause: float = 0.0


class Drop(Agent):
    """Gives one euro back in each step, after a little thought."""

    Input = Parts
    budget = Budget(steps=1_000, money=(Money(1_000, "EUR"),))

    @step
    def part(self, run: RunContext) -> Next:
        """One refund."""
        time.sleep(run.input["pause"])
        paid = {"order": run.input["order"], "charge": run.input["charge"]}
        run.effect(refund_part, **paid, amount=Decimal(1), currency="EUR")
        run.state["done"] = run.state.get("done", 0) + 1
        return self.part if run.state["done"] < run.input["parts"] else None
