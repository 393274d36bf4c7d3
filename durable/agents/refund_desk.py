"""The refund desk: reads a ticket, looks the order up, decides by rule, refunds or replaces, asks before it writes.

This is the tutorial. A step is ordinary Python; it may be executed again from its start after any crash, and what it
did to the world is not done twice.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, EmailStr, Field, model_validator

from durable.agents.desk_tools import fetch_order, refund, reserve_replacement, send_email
from durable.author import Agent, Budget, EffectRefused, GiveUp, Money, Next, RunContext, days, step
from durable.money import exponent, to_minor


class Ticket(BaseModel, extra="forbid"):
    """What the customer wants, and how to reach them (nobody writes to a customer without an address)."""

    order: str = Field(min_length=1, max_length=100)
    wants: Literal["money", "replacement"]
    amount: Decimal | None = Field(default=None, gt=0)
    currency: str | None = None
    text: str = Field(default="", max_length=4_000)
    reply_to: EmailStr | None = None

    @model_validator(mode="after")
    def _exact(self) -> Ticket:
        """Money that its currency can't express is refused at the door."""
        # Not said: the order's own, of which none has more decimals than this one.
        currency = self.currency or "KWD"
        exponent(currency, "input.currency")
        if self.amount is not None:
            to_minor(self.amount, currency, "input.amount")
        return self


class RefundDesk(Agent):
    """Handles one ticket."""

    Input = Ticket
    budget = Budget(
        steps=200,
        tokens=400_000,
        money=(Money(500, "EUR"), Money(60_000, "JPY"), Money(100, "KWD")),
        deadline=days(7),  # longer than people may take over a gate, and its yes may hold
    )

    @step
    def triage(self, run: RunContext) -> Next:
        """Read the ticket and the order, and decide by rule."""
        order = run.call(fetch_order, order=run.input["order"])
        run.say("customer", run.input["text"] or f"I want {run.input['wants']} for {run.input['order']}.")
        if order["status"] == "cancelled":
            raise GiveUp(f"order {order['id']} was cancelled; there is nothing to give back")
        if run.input["currency"] not in (None, order["currency"]):
            raise GiveUp(
                f"order {order['id']} was paid in {order['currency']}, not in {run.input['currency']}"
            )
        run.state["order"] = order
        return self.replace if run.input["wants"] == "replacement" else self.pay

    @step
    def replace(self, run: RunContext) -> Next:
        """Set a replacement aside; if that is refused, money it is."""
        order = run.state["order"]
        item = order["items"][0]
        try:
            receipt = run.effect(
                reserve_replacement, order=order["id"], sku=item["sku"], quantity=item["quantity"]
            )
        except EffectRefused:
            return self.pay
        run.state["done"] = f"We have set {item['quantity']} x {item['sku']} aside for you ({receipt.id})."
        return self.tell

    @step
    def pay(self, run: RunContext) -> Next:
        """Refund what was asked for, or the whole order."""
        order = run.state["order"]
        amount = run.input["amount"] or order["amount"]
        run.say("agent", f"The customer asks for {amount} {order['currency']} of order {order['id']} back.")
        run.say("agent", f"They write: {run.input['text'] or 'nothing'}")
        try:
            receipt = run.effect(
                refund,
                order=order["id"],
                customer=order["customer"],
                charge=order["charge"],
                amount=Decimal(amount),
                currency=order["currency"],
                reason="requested_by_customer",
            )
        except EffectRefused as refusal:
            run.state["done"] = "We have looked into it and can't refund this order."
            run.state["refused"] = refusal.words
            return self.tell
        run.state["done"] = f"We have refunded {receipt.amount} {receipt.currency} ({receipt.id})."
        return self.tell

    @step
    def tell(self, run: RunContext) -> Next:
        """Write to the customer, if people let the letter out."""
        done = run.state["done"]
        run.say("agent", done)
        run.result = {"done": done, "told": False}
        if run.input["reply_to"] is None:
            return None
        try:
            run.effect(
                send_email, to=run.input["reply_to"], subject=f"Your order {run.input['order']}", body=done
            )
        except EffectRefused:
            return None
        run.result["told"] = True
        return None
