"""Payments with all that the engine does: class, policy, reservation, ledger, seal, release, receipt."""

from __future__ import annotations

from functools import partial

from durable.models import Effect
from tests.bench import kit
from tests.bench.kit import SIZES
from tests.bench.ours import engine


def measure() -> kit.Figures:
    """Effects a second: each in a step of its own, and all in one step."""
    found: kit.Figures = {}
    for name in ("a step each", "in one step"):
        agent = f"bench payments, {name}"
        engine.drive(agent, min(20, SIZES.effects))
        before = Effect.objects.filter(state="applied").count()
        seconds = kit.timed(partial(engine.drive, agent, SIZES.effects))
        kit.done(Effect.objects.filter(state="applied").count() - before, SIZES.effects, "effects")
        found[name] = kit.rate(SIZES.effects, seconds)
    return found
