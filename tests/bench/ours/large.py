"""A run that says ten megabytes, with small steps before and after, the last of which reads everything."""

from __future__ import annotations

from durable.models import Message
from tests.bench import kit, lengthening
from tests.bench.ours import agents, engine


def measure() -> kit.Figures:
    """Small steps before and after, and reading all that was said."""
    engine.drive("bench large", 1)
    agents.begun.clear()
    run = engine.drive("bench large", lengthening.MESSAGES)
    kit.done(Message.objects.filter(branch=run.branch_id).count(), lengthening.MESSAGES, "messages")
    before, after = agents.begun[: lengthening.SMALL], agents.begun[-lengthening.SMALL :]
    return lengthening.figures(before, after, run.result["reading"])
