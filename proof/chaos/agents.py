"""The agent that chaos drives beside the refund desk: several effects at vendors with and without keys, and an undo.

Its tools declare short times in flight, which hold for the stand-in and for every stop that the nemesis makes: so that
a doubt can be settled while somebody waits for the proof.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pydantic import BaseModel, EmailStr

from durable.adapters import mail, stock, stripe_refunds
from durable.agents.desk_tools import fetch_order
from durable.author import (
    Agent,
    Budget,
    Call,
    EffectRefused,
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

#: Longer than anything that is stopped, hung or late here: see `proof.chaos.kinds`.
IN_FLIGHT = seconds(8)
LAG = seconds(3)
#: The parts in which an exchange gives money back; equal sums would hide one behind the other.
PARTS = ("12.50", "7.25")


class Wish(BaseModel, extra="forbid"):
    """Which order is exchanged, and who wants to hear of it."""

    order: str
    write_to: EmailStr | None = None


@tool(vendor="stock", subject="order", lookup_lag=LAG, in_flight=IN_FLIGHT)
def crowd_reserve(call: Call, order: str, sku: str, quantity: int) -> Receipt:
    """Set goods aside, at a warehouse that knows no keys."""
    return stock.reserve(call, sku, quantity, order)


@crowd_reserve.lookup
def find_set_aside(call: Call) -> LookupAnswer:
    """Find the reservation by our reference."""
    return stock.find_reservation(call)


@crowd_reserve.undo(lookup=stock.find_release, idempotent_for=hours(24))
def put_back(call: Call) -> Receipt:
    """Put the goods back."""
    assert call.undoes is not None
    return stock.release_reservation(call, call.undoes)


@tool(
    vendor="stripe",
    idempotent_for=stripe_refunds.KEY_LIFE,
    money="amount",
    subject="order",
    target="charge",
    lookup_lag=LAG,
    in_flight=IN_FLIGHT,
)
def give_back(call: Call, order: str, charge: str, amount: Decimal, currency: str) -> Receipt:
    """Give a part of a charge back."""
    return stripe_refunds.refund(call, charge, amount, currency, "requested_by_customer")


@give_back.lookup
def find_given(call: Call) -> LookupAnswer:
    """Find our refund among those of the charge."""
    return stripe_refunds.find_refund(call)


@tool(vendor="mail", subject={"customer": "to"}, in_flight=IN_FLIGHT)
def write(call: Call, to: EmailStr, subject: str, body: str) -> Receipt:
    """Write to the customer: nothing about it can be repeated, taken back or looked up."""
    return mail.send_email(call, to, subject, body)


def think(request: Any) -> tuple[Any, int]:
    """A model that costs 7 tokens a call."""
    return {"answer": f"exchange {request['order']}"}, 7


class Exchange(Agent):
    """Sets a replacement aside, gives two parts of the price back, and writes, if it was asked to."""

    Input = Wish
    budget = Budget(steps=100, tokens=1_000, money=(Money(100, "EUR"),), deadline=hours(6))

    @step
    def look(self, run: RunContext) -> Next:
        """Read the order, and think about it."""
        run.state["order"] = run.call(fetch_order, order=run.input["order"])
        run.say("agent", run.model(think, {"order": run.input["order"]}, tokens=20)["answer"])
        return self.reserve

    @step
    def reserve(self, run: RunContext) -> Next:
        """Set the goods aside. Where people refuse a repeat, the customer gets the money alone."""
        order = run.state["order"]
        item = order["items"][0]
        try:
            run.effect(crowd_reserve, order=order["id"], sku=item["sku"], quantity=item["quantity"])
        except EffectRefused:
            run.state["refused"] = True
        return self.pay

    @step
    def pay(self, run: RunContext) -> Next:
        """Give both parts back, one after the other."""
        for part in PARTS:
            try:
                self._give(run, Decimal(part))
            except EffectRefused:
                run.state["refused"] = True
        return self.tell

    def _give(self, run: RunContext, amount: Decimal) -> None:
        order = run.state["order"]
        paid = {"order": order["id"], "charge": order["charge"], "currency": order["currency"]}
        run.effect(give_back, **paid, amount=amount)

    @step
    def tell(self, run: RunContext) -> Next:
        """Write to the customer, if people let the letter out."""
        if run.input["write_to"] is None:
            return None
        try:
            run.effect(write, to=run.input["write_to"], subject="Your exchange", body="It is done.")
        except EffectRefused:
            run.state["refused"] = True
        return None
