"""The agents that are measured: ordinary ones, with a plan, a budget of every kind, and money that is reserved."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel

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
    step,
    tool,
)
from tests.bench import kit

BUDGET = Budget(steps=100_000, tokens=1_000_000, money=Money(100_000, "EUR"), deadline=hours(6))
AMOUNT = Decimal("0.10")  # small, so that no sum of a run comes to where people are asked
_vendor: list[kit.Vendor] = []


@tool(idempotent_for=hours(24), vendor="bench vendor", money="amount", subject="order")
def bench_pay(call: Call, order: str, amount: Decimal, currency: str) -> Receipt:
    """Pay over the process's one kept connection, as the column `limit` does."""
    if not _vendor:
        _vendor.append(kit.Vendor())
    found = _vendor[0].pay(call.key, str(amount), currency)
    return Receipt(found["id"], amount=Decimal(found["amount"]), currency=found["currency"], key=found["key"])


@bench_pay.lookup
def bench_find(call: Call) -> LookupAnswer:
    """Never asked: this vendor loses nothing."""
    return Absent()


class Length(BaseModel, extra="forbid"):
    """How long a run is."""

    length: int


class Steps(Agent):
    """Small steps, each of which counts and no more."""

    name = "bench steps"
    Input = Length
    budget = BUDGET

    @step
    def turn(self, run: RunContext) -> Next:
        """Count."""
        run.state["no"] = run.state.get("no", 0) + 1
        return self.turn if run.state["no"] < run.input["length"] else None


class PaySteps(Agent):
    """Steps that pay once each."""

    name = "bench payments, a step each"
    Input = Length
    budget = BUDGET

    @step
    def pay(self, run: RunContext) -> Next:
        """Pay for one order."""
        run.state["no"] = run.state.get("no", 0) + 1
        run.effect(bench_pay, order=f"{run.ref}-{run.state['no']}", amount=AMOUNT, currency="EUR")
        return self.pay if run.state["no"] < run.input["length"] else None


class PayAll(Agent):
    """One step that pays again and again."""

    name = "bench payments, in one step"
    Input = Length
    budget = BUDGET

    @step
    def pay(self, run: RunContext) -> Next:
        """Pay for all orders."""
        for no in range(run.input["length"]):
            run.effect(bench_pay, order=f"{run.ref}-{no}", amount=AMOUNT, currency="EUR")
        return None
