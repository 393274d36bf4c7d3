"""The chapter's run: refunds of 10, 25, 40 and 5 in four steps. And one refund of 40 alone, for what happens without.

All of one charge, so that the vendor's book can be read by it.
"""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel

from durable.agents.desk_tools import refund
from durable.author import Agent, Budget, Money, Next, RunContext, step


class Paid(BaseModel, extra="forbid"):
    """What was paid, for which order, and is given back in parts."""

    order: str
    charge: str


def give_back(run: RunContext, amount: int) -> None:
    """Refund a part of the charge."""
    run.effect(
        refund,
        order=run.input["order"],
        customer=f"cus_{run.input['order']}",
        charge=run.input["charge"],
        amount=Decimal(amount),
        currency="EUR",
        reason="requested_by_customer",
    )


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
