"""What every schedule takes through its crashes: a run that reads, asks a model, acts twice, and is undone.

The first act needs nobody, the second one a person's yes. Each vendor class has tools that declare what is true of
that vendor and no more; what they can't promise, people must settle.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, ClassVar

from pydantic import BaseModel

from approvals.models import Decision
from durable.adapters import shop, stock, stripe_refunds
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
    minutes,
    seconds,
    step,
    tool,
)
from durable.tools import Tool

#: Major units, or pieces: the first act goes by itself, the second is above what may.
FIRST, SECOND = 10, 120
#: What a reviewer who edits makes of the second.
LESS = 110
THOUGHT_COSTS, THOUGHT_MAY_COST = 7, 10
SHORT_LIFE = minutes(15)
LAG = IN_FLIGHT = seconds(5)


class Code:
    """The version of the code that is deployed: 0, or 1, in which the first act asks for one more."""

    version = 0
    #: Runs over which this process has stumbled already.
    stumbled: ClassVar[set[str]] = set()


class Errand(BaseModel, extra="forbid"):
    """What is to be done: in which `trade`, and the names that the vendor's book is read by."""

    trade: str
    order: str
    more: bool
    first: str
    second: str
    first_back: str = ""


@tool(reads=True, vendor="stock", subject="order")
def look_up(order: str) -> Any:
    """Read what is set aside for an order."""
    return shop.get(stock.PATH, {"reference": order}, 5.0)


def think(request: Any) -> tuple[dict[str, str], int]:
    """Stand for a model: an answer, and the tokens that it cost."""
    return {"advice": f"do it for {request['order']}"}, THOUGHT_COSTS


_MONEY: dict[str, Any] = {
    "vendor": "stripe",
    "money": "amount",
    "subject": "order",
    "target": "charge",
    "lookup_lag": seconds(0),
}


def _refund(call: Call, order: str, charge: str, back: str, amount: Decimal, currency: str) -> Receipt:
    """Give money back at a vendor that honours keys."""
    return stripe_refunds.refund(call, charge, amount, currency, "")


def take_back(call: Call) -> Receipt:
    """The undo of a refund: the same sum the other way, out of the charge that stands for it."""
    amount, currency = Decimal(str(call.args["amount"])), str(call.args["currency"])
    return stripe_refunds.refund(call, str(call.args["back"]), amount, currency, "")


def find_taken_back(call: Call) -> LookupAnswer:
    """Find the undo's own movement."""
    return stripe_refunds.find_refund(replace(call, args={**call.args, "charge": call.args["back"]}))


def _pair(life: timedelta, suffix: str) -> tuple[Tool, Tool]:
    """A refund that can be undone, and one that can't, at a vendor whose keys live that long."""
    back = tool(idempotent_for=life, name=f"refund_{suffix}", **_MONEY)(_refund)
    good = tool(idempotent_for=life, name=f"refund_{suffix}_for_good", **_MONEY)(_refund)
    for one in (back, good):
        one.lookup(stripe_refunds.find_refund)
    back.undo(take_back, lookup=find_taken_back, idempotent_for=life)
    return back, good


@tool(vendor="stock", subject="order", target="sku", lookup_lag=LAG, in_flight=IN_FLIGHT)
def keep_aside(call: Call, order: str, sku: str, quantity: int) -> Receipt:
    """Reserve goods at a vendor without keys, whose list lags behind."""
    return stock.reserve(call, sku, quantity, order)


@tool(vendor="stock", subject="order", target="sku", lookup_lag=LAG, in_flight=IN_FLIGHT)
def set_aside_for_good(call: Call, order: str, sku: str, quantity: int) -> Receipt:
    """The same, with no way back: people are asked."""
    return stock.reserve(call, sku, quantity, order)


keep_aside.lookup(stock.find_reservation)
set_aside_for_good.lookup(stock.find_reservation)


@keep_aside.undo(lookup=stock.find_release, idempotent_for=hours(24 * 365))
def put_back(call: Call) -> Receipt:
    """Cancel the reservation. The vendor cancels one once, whoever asks how often."""
    assert call.undoes is not None
    return stock.release_reservation(call, call.undoes)


@tool(vendor="stock", subject="order", target="sku", in_flight=IN_FLIGHT)
def hand_out(call: Call, order: str, sku: str, quantity: int) -> Receipt:
    """Act at a vendor that honours no keys and can't be asked."""
    return stock.reserve(call, sku, quantity, order)


@hand_out.undo
def fetch_back(call: Call) -> Receipt:
    """The undo, at the same vendor: nothing is promised, so people are asked."""
    assert call.undoes is not None
    return stock.release_reservation(call, call.undoes)


@tool(in_flight=IN_FLIGHT, vendor="stock")
def hand_out_for_good(call: Call, order: str, sku: str, quantity: int) -> Receipt:
    """The same, and it can't be taken back either."""
    return stock.reserve(call, sku, quantity, order)


@tool(idempotent_for=stripe_refunds.KEY_LIFE, **_MONEY)
def refund_as_seen(call: Call, order: str, charge: str, back: str, amount: Decimal, currency: str) -> Receipt:
    """A refund that rests on a fact, and can't be undone."""
    return _refund(call, order, charge, back, amount, currency)


refund_as_seen.lookup(stripe_refunds.find_refund)


@refund_as_seen.recheck
def looked_at(call: Call) -> dict[str, bool]:
    """Whether anybody has looked at it. So the first yes changes the fact that it rested on, and a second is asked."""
    return {"looked at": Decision.objects.filter(gate__effect__key=call.key).exists()}


BUDGET = Budget(steps=20, tokens=1_000, money=(Money(500, "EUR"),))
TRADES = {
    "long": _pair(stripe_refunds.KEY_LIFE, "long"),
    "short": _pair(SHORT_LIFE, "short"),
    "as seen": (_pair(stripe_refunds.KEY_LIFE, "seen")[0], refund_as_seen),
    "goods": (keep_aside, set_aside_for_good),
    "blind": (hand_out, hand_out_for_good),
}


class Errands(Agent):
    """Reads and thinks, acts, and, where there is more to do, acts with leave."""

    Input = Errand
    budget = BUDGET

    @step(retries=8)
    def look(self, run: RunContext) -> Next:
        run.state["found"] = run.call(look_up, order=run.input["order"])
        run.state["advice"] = run.model(think, {"order": run.input["order"]}, tokens=THOUGHT_MAY_COST)
        run.say("agent", f"I shall serve {run.input['order']}.")
        return self.small

    @step(retries=8)
    def small(self, run: RunContext) -> Next:
        _act(run, 0, FIRST + Code.version)
        return self.large if run.input["more"] else None

    @step(retries=8)
    def large(self, run: RunContext) -> Next:
        run.say("agent", "The rest needs your yes.")
        _act(run, 1, SECOND)
        return None


class GatedErrand(Agent):
    """Acts with leave, and no more."""

    Input = Errand
    budget = BUDGET

    @step(retries=8)
    def large(self, run: RunContext) -> Next:
        _act(run, 1, SECOND + Code.version)
        return None


class WindingErrand(Agent):
    """Waits for a word, thinks, stumbles once in each process, and acts with leave that rests on a fact."""

    Input = Errand
    budget = BUDGET

    @step(retries=8)
    def listen(self, run: RunContext) -> Next:
        run.state["word"] = run.wait_for("word", within=hours(1))
        return self.stumble

    @step(retries=8)
    def stumble(self, run: RunContext) -> Next:
        run.state["advice"] = run.model(think, {"order": run.input["order"]}, tokens=THOUGHT_MAY_COST)
        if run.ref not in Code.stumbled:
            Code.stumbled.add(run.ref)
            raise RuntimeError("it was not to be had yet")
        return self.large

    @step(retries=8)
    def large(self, run: RunContext) -> Next:
        _act(run, 1, SECOND)
        return None


def _act(run: RunContext, place: int, much: int) -> None:
    """Do the first (0) or second (1) act of the run's trade. A person's no is no error: the run goes on."""
    asked = run.input
    tool_, what = TRADES[asked["trade"]][place], asked["second" if place else "first"]
    with contextlib.suppress(EffectRefused):
        if asked["trade"] in ("long", "short", "as seen"):
            money = {"amount": Decimal(much), "currency": "EUR"}
            run.effect(tool_, order=asked["order"], charge=what, back=asked["first_back"], **money)
        else:
            run.effect(tool_, order=asked["order"], sku=what, quantity=much)
