"""The agents whose runs are contended for. Each is as small as its race allows, and acts at the real stand-in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal

from pydantic import BaseModel

from durable.adapters import stock, stripe_refunds
from durable.author import (
    Agent,
    Budget,
    Call,
    EffectRefused,
    GiveUp,
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
from durable.context import wish
from proof.four_refunds import refund_part

#: Called with the run's id inside a step, before it acts: where a control lets its contenders meet.
before_act: list[Callable[[str], None]] = []
#: Orders over which a step fails, or gives up.
broken: set[str] = set()


class Order(BaseModel, extra="forbid"):
    """An order, its charge, and how much of it is to be given back (major units)."""

    order: str
    charge: str
    amount: int = 40


@tool(
    vendor="stripe",
    idempotent_for=stripe_refunds.KEY_LIFE,
    money="amount",
    subject="order",
    target="charge",
    once_per=("order",),
)
def refund_once(call: Call, order: str, charge: str, amount: Decimal, currency: str) -> Receipt:
    """Give a charge back, once an order."""
    return stripe_refunds.refund(call, charge, amount, currency, "requested_by_customer")


@refund_once.lookup
def find_refund(call: Call) -> LookupAnswer:
    """Find our refund among those of the charge."""
    return stripe_refunds.find_refund(call)


#: Called with the run's id while the vendor is asked to set goods aside.
while_asking: list[Callable[[str], None]] = []


@tool(vendor="stock", subject="order", lookup_lag=seconds(1), in_flight=seconds(5))
def keep_back(call: Call, order: str) -> Receipt:
    """Set one piece aside, at a vendor that knows no keys."""
    for act in while_asking:
        act(call.run)
    return stock.reserve(call, "MUG-BLUE", 1, order)


@keep_back.lookup
def find_kept(call: Call) -> LookupAnswer:
    """Find the reservation by our reference."""
    return stock.find_reservation(call)


@keep_back.undo(lookup=stock.find_release, idempotent_for=hours(24 * 365))
def put_back(call: Call) -> Receipt:
    """Put the piece back."""
    assert call.undoes is not None
    return stock.release_reservation(call, call.undoes)


@tool(vendor="stock")
def give_away(call: Call, order: str) -> Receipt:
    """Declares nothing and moves no money: always gated, and nothing of it is reserved."""
    return stock.reserve(call, "MUG-RED", 1, order)


def _act(run: RunContext) -> None:
    for act in before_act:
        act(run.ref)


class _Small(Agent):
    Input = Order
    budget = Budget(steps=20, money=(Money(500, "EUR"),))


class Refunder(_Small):
    """One refund."""

    @step
    def pay(self, run: RunContext) -> Next:
        _act(run)
        amount = Decimal(run.input["amount"])
        order, charge = run.input["order"], run.input["charge"]
        run.effect(refund_part, order=order, charge=charge, amount=amount, currency="EUR")
        return None


class Basket(BaseModel, extra="forbid"):
    """Charges of one order, and how much of each is to be given back (major units)."""

    order: str
    charges: list[str]
    amount: int


class Refunds(Agent):
    """Several refunds at once."""

    Input = Basket
    budget = Budget(steps=20, money=(Money(100_000, "EUR"),))

    @step
    def pay(self, run: RunContext) -> Next:
        order, amount = run.input["order"], Decimal(run.input["amount"])
        run.effects(
            *(
                wish(refund_part, order=order, charge=charge, amount=amount, currency="EUR")
                for charge in run.input["charges"]
            )
        )
        return None


class OnceRefunder(_Small):
    """One refund of an order that may have one."""

    @step
    def pay(self, run: RunContext) -> Next:
        _act(run)
        amount = Decimal(run.input["amount"])
        order, charge = run.input["order"], run.input["charge"]
        run.effect(refund_once, order=order, charge=charge, amount=amount, currency="EUR")
        return None


class Keeper(_Small):
    """Sets goods aside, which can be undone; then fails over a broken order."""

    @step
    def keep(self, run: RunContext) -> Next:
        _act(run)
        run.effect(keep_back, order=run.input["order"])
        return self.close

    @step
    def close(self, run: RunContext) -> Next:
        if run.input["order"] in broken:
            raise GiveUp("the order is broken")
        return None


class Stubborn(_Small):
    """Fails over a broken order, and is not executed again by itself."""

    @step(retries=0)
    def pay(self, run: RunContext) -> Next:
        if run.input["order"] in broken:
            raise RuntimeError("the order is broken")
        order, charge = run.input["order"], run.input["charge"]
        run.effect(refund_part, order=order, charge=charge, amount=Decimal(40), currency="EUR")
        return None


class Giver(_Small):
    """One effect that is always gated."""

    @step
    def give(self, run: RunContext) -> Next:
        with suppress(EffectRefused):
            run.effect(give_away, order=run.input["order"])
        return None


class Both(_Small):
    """One effect that is always gated, and one that is not, in one turn: both are recorded before either acts."""

    @step
    def give(self, run: RunContext) -> Next:
        order = run.input["order"]
        run.effects(wish(give_away, order=order), wish(keep_back, order=order))
        return None


class Listener(_Small):
    """Waits for a word from outside."""

    @step
    def listen(self, run: RunContext) -> Next:
        run.state["heard"] = run.wait_for("word", within=hours(1))
        return None


class Sleeper(_Small):
    """Waits for the time to pass."""

    @step
    def sleep(self, run: RunContext) -> Next:
        run.sleep(hours(1))
        return self.wake

    @step
    def wake(self, run: RunContext) -> Next:
        return None
