"""The agents that are measured: ordinary ones, with a plan, a budget of every kind, and money that is reserved."""

from __future__ import annotations

import os
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
from tests.bench import bell, conversing, kit, lengthening, resuming, text

BUDGET = Budget(steps=100_000, tokens=1_000_000, money=Money(100_000, "EUR"), deadline=hours(6))
AMOUNT = Decimal("0.10")  # small, so that no sum of a run comes to where people are asked
_vendor: list[kit.Vendor] = []
#: When each turn of `bench conversation`, and each small step of `bench large`, began.
begun: list[float] = []


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


@tool(vendor="bench letters")
def bench_write(call: Call, bell_port: int, word: str) -> Receipt:
    """Declares nothing, so that a person is asked. Rings when it is let out."""
    bell.ring(bell_port, f"{word}-out")
    return Receipt(call.key, key=call.key)


class Length(BaseModel, extra="forbid"):
    """How long a run is, in whatever it does; whether it speaks; and who waits to hear that it has begun."""

    length: int
    speaks: bool = False
    port: int = 0
    word: str = ""


class Measured(Agent):
    """What all of them have in common."""

    Input = Length
    budget = BUDGET


class Steps(Measured):
    """Small steps, each of which counts and no more."""

    name = "bench steps"

    @step
    def turn(self, run: RunContext) -> Next:
        """Count."""
        run.state["no"] = run.state.get("no", 0) + 1
        return self.turn if run.state["no"] < run.input["length"] else None


class PaySteps(Measured):
    """Steps that pay once each."""

    name = "bench payments, a step each"

    @step
    def pay(self, run: RunContext) -> Next:
        """Pay for one order."""
        run.state["no"] = run.state.get("no", 0) + 1
        run.effect(bench_pay, order=f"{run.ref}-{run.state['no']}", amount=AMOUNT, currency="EUR")
        return self.pay if run.state["no"] < run.input["length"] else None


class PayAll(Measured):
    """One step that pays again and again."""

    name = "bench payments, in one step"

    @step
    def pay(self, run: RunContext) -> Next:
        """Pay for all orders."""
        for no in range(run.input["length"]):
            run.effect(bench_pay, order=f"{run.ref}-{no}", amount=AMOUNT, currency="EUR")
        return None


class Resumed(Measured):
    """Dies in the step that BENCH_LAST names; resumed, that step reports how long it took to come to it."""

    name = "bench resumed"

    @step(retries=1_000)
    def turn(self, run: RunContext) -> Next:
        """Count, speak, die."""
        no = run.state.get("no", 0)
        if str(no) == os.environ["BENCH_LAST"]:
            if "BENCH_BEGIN" in os.environ:
                kit.done(len(run.messages) if run.input["speaks"] else 2 * no, 2 * no, "messages")
                kit.report(resuming.since(float(os.environ["BENCH_BEGIN"])))
            os._exit(kit.DIED)
        run.state["no"] = no + 1
        if run.input["speaks"]:
            said, answered = text.conversation(resuming.TURNS)[no]
            run.say("agent", said)
            run.say("tool", answered)
        return self.turn


class Conversation(Measured):
    """What a model says and what a tool answers, a step each."""

    name = "bench conversation"

    @step
    def think(self, run: RunContext) -> Next:
        """The model's words."""
        begun.append(kit.now())
        run.say("agent", text.conversation(conversing.TURNS)[run.state.get("no", 0)][0])
        return self.act

    @step
    def act(self, run: RunContext) -> Next:
        """The tool's answer."""
        no = run.state.get("no", 0)
        run.say("tool", text.conversation(conversing.TURNS)[no][1])
        run.state["no"] = no + 1
        return self.think if no + 1 < run.input["length"] else None


class Large(Measured):
    """Small steps, then long messages, then small steps again."""

    name = "bench large"

    @step
    def before(self, run: RunContext) -> Next:
        """A small step."""
        return self.before if _small(run) < lengthening.SMALL else self.speak

    @step
    def speak(self, run: RunContext) -> Next:
        """A long message."""
        run.state["said"] = run.state.get("said", 0) + 1
        run.say("agent", lengthening.message())
        return self.speak if run.state["said"] < run.input["length"] else self.after

    @step
    def after(self, run: RunContext) -> Next:
        """A small step."""
        return self.after if _small(run) < 2 * lengthening.SMALL else self.read

    @step
    def read(self, run: RunContext) -> Next:
        """Read everything."""
        begin = kit.now()
        kit.done(len(run.messages), run.input["length"], "messages")
        run.result = {"reading": kit.now() - begin}
        return None


def _small(run: RunContext) -> int:
    begun.append(kit.now())
    run.state["no"] = run.state.get("no", 0) + 1
    return int(run.state["no"])


class Gated(Measured):
    """Waits for a person's yes, and says when it goes on."""

    name = "bench gated"

    @step
    def write(self, run: RunContext) -> Next:
        """Ring when the step's code runs; the tool rings once more when its act is let out."""
        bell.ring(run.input["port"], run.input["word"])
        run.effect(bench_write, bell_port=run.input["port"], word=run.input["word"])
        return None


class Ringing(Measured):
    """Says that it has begun, and ends."""

    name = "bench ringing"

    @step
    def ring(self, run: RunContext) -> Next:
        """Ring."""
        bell.ring(run.input["port"], run.input["word"])
        return None


class Sleeping(Measured):
    """Waits for so many hours."""

    name = "bench sleeping"

    @step
    def sleep(self, run: RunContext) -> Next:
        """Sleep."""
        run.sleep(hours(run.input["length"]))
        return None
