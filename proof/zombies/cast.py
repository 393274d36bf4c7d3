"""The runs over which workers fall asleep: one whose vendor honours keys, one whose vendors know none."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from durable.adapters import stock, stripe_refunds
from durable.author import (
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

SMALL, LARGE = 40, 150
#: Called inside a tool, after the engine's last look at the send-by and before the wire's.
inside: list[Callable[[], None]] = []


class Order(BaseModel, extra="forbid"):
    """An order and its charge."""

    order: str
    charge: str


def _asleep() -> None:
    for act in inside:
        act()


@tool(
    vendor="stripe",
    idempotent_for=stripe_refunds.KEY_LIFE,
    money="amount",
    subject="order",
    target="charge",
)
def return_money(call: Call, order: str, charge: str, amount: Decimal, currency: str) -> Receipt:
    """Keyed, with a look-up."""
    _asleep()
    return stripe_refunds.refund(call, charge, amount, currency, "requested_by_customer")


@return_money.lookup
def find_money(call: Call) -> LookupAnswer:
    """Find our refund among those of the charge."""
    return stripe_refunds.find_refund(call)


@tool(vendor="stock", subject="order", lookup_lag=seconds(0.2), in_flight=seconds(1))
def lay_aside(call: Call, order: str) -> Receipt:
    """Without keys, with a look-up and an undo."""
    _asleep()
    return stock.reserve(call, "MUG-BLUE", 1, order)


@lay_aside.lookup
def find_laid_aside(call: Call) -> LookupAnswer:
    """Find the reservation by our reference."""
    return stock.find_reservation(call)


@lay_aside.undo(lookup=stock.find_release, idempotent_for=hours(24 * 365))
def lay_back(call: Call) -> Receipt:
    """Put the piece back."""
    assert call.undoes is not None
    return stock.release_reservation(call, call.undoes)


@tool(vendor="stock", subject="order", in_flight=seconds(5))
def hand_over(call: Call, order: str) -> Receipt:
    """Opaque: no keys, nobody to ask, no undo. People are asked every time."""
    _asleep()
    return stock.reserve(call, "MUG-RED", 1, order)


@tool(reads=True, freshness=seconds(600))
def read_shelf(order: str) -> dict[str, Any]:
    """A read, frozen."""
    return {"order": order, "shelf": 7}


def think(request: Any) -> tuple[Any, int]:
    """A model that costs 10 tokens a call."""
    return {"thought": request}, 10


class _Desk(Agent):
    Input = Order
    budget = Budget(steps=20, tokens=1_000, money=(Money(500, "EUR"),))


class KeyedDesk(_Desk):
    """Reads, thinks, pays a little, asks before it pays a lot."""

    @step
    def look(self, run: RunContext) -> Next:
        run.state["shelf"] = run.call(read_shelf, order=run.input["order"])
        run.state["thought"] = run.model(think, "what now", tokens=50)
        return self.act

    @step
    def act(self, run: RunContext) -> Next:
        self._pay(run, SMALL)
        return self.ask

    @step
    def ask(self, run: RunContext) -> Next:
        self._pay(run, LARGE)
        return None

    def _pay(self, run: RunContext, amount: int) -> None:
        about = {"order": run.input["order"], "charge": run.input["charge"]}
        run.effect(return_money, **about, amount=Decimal(amount), currency="EUR")


class KeylessDesk(_Desk):
    """Reads, thinks, sets a piece aside, asks before it hands one over."""

    @step
    def look(self, run: RunContext) -> Next:
        run.state["shelf"] = run.call(read_shelf, order=run.input["order"])
        run.state["thought"] = run.model(think, "what now", tokens=50)
        return self.act

    @step
    def act(self, run: RunContext) -> Next:
        run.effect(lay_aside, order=run.input["order"])
        return self.ask

    @step
    def ask(self, run: RunContext) -> Next:
        run.effect(hand_over, order=run.input["order"])
        return None
