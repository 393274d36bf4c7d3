"""The story's run: refunds of 10, 25, 40 and 5 in four steps. And one refund of 40 alone, for what happens without.

All of one charge, so that the vendor's book can be read by it.
"""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel

from durable.adapters import stripe_refunds
from durable.author import Agent, Budget, Call, LookupAnswer, Money, Next, Receipt, RunContext, step, tool


class Paid(BaseModel, extra="forbid"):
    """What was paid, for which order, and is given back in parts."""

    order: str
    charge: str


@tool(
    vendor="stripe", idempotent_for=stripe_refunds.KEY_LIFE, money="amount", subject="order", target="charge"
)
def refund_part(call: Call, order: str, charge: str, amount: Decimal, currency: str) -> Receipt:
    """Give a part of a charge back. An order may get several parts, so it does not declare `once_per`."""
    return stripe_refunds.refund(call, charge, amount, currency, "requested_by_customer")


@refund_part.lookup
def find_part(call: Call) -> LookupAnswer:
    """Find our refund among those of the charge, by the key in its metadata."""
    return stripe_refunds.find_refund(call)


def give_back(run: RunContext, amount: int) -> None:
    """Refund a part of the charge."""
    paid = {"order": run.input["order"], "charge": run.input["charge"]}
    run.effect(refund_part, **paid, amount=Decimal(amount), currency="EUR")


class FourRefunds(Agent):
    """Four refunds, one a step."""

    Input = Paid
    budget = Budget(steps=10, money=(Money(80, "EUR"),))

    @step
    def s1(self, run: RunContext) -> Next:
        give_back(run, 10)
        return self.s2

    @step
    def s2(self, run: RunContext) -> Next:
        give_back(run, 25)
        return self.s3

    @step
    def s3(self, run: RunContext) -> Next:
        give_back(run, 40)
        return self.s4

    @step
    def s4(self, run: RunContext) -> Next:
        give_back(run, 5)
        return None


class ThirdAlone(Agent):
    """The third refund alone."""

    Input = Paid
    budget = Budget(steps=10, money=(Money(80, "EUR"),))

    @step
    def s3(self, run: RunContext) -> Next:
        give_back(run, 40)
        return None
