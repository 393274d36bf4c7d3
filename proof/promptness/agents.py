"""The agents of `proof.promptness`: one that a worker hangs in, one that is done at once, one that acts and acts."""

from __future__ import annotations

import time

from durable.author import Agent, Budget, Call, Next, Receipt, RunContext, hours, step, tool
from durable.models import Run

#: Seconds that the first attempt of a `Held` run stays in its step: until its worker is killed.
_LONG = 600.0


@tool(idempotent_for=hours(24), vendor="nobody")
def move_nothing(call: Call, number: int) -> Receipt:
    """Stand for a vendor that answers at once: what is measured are the intents before it.

    It moves no money either: a policy that adds up would ask people in the end.
    """
    return Receipt(call.key, key=call.key)


class Held(Agent):
    """Keeps its first worker for as long as that lives."""

    @step
    def stay(self, run: RunContext) -> Next:
        if Run.objects.get(ref=run.ref).attempt == 1:
            time.sleep(_LONG)
        return None


class Quick(Agent):
    """One step, done at once."""

    @step
    def done(self, run: RunContext) -> Next:
        return None


class Busy(Agent):
    """Acts in every step, until it is stopped."""

    budget = Budget(steps=1_000_000, deadline=hours(6))

    @step
    def act(self, run: RunContext) -> Next:
        run.effect(move_nothing, number=run.visit)
        return self.act
