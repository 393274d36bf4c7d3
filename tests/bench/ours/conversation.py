"""Two steps a turn, what the model said and what the tool answered: each ends in a checkpoint that can be restored."""

from __future__ import annotations

from durable.models import Checkpoint, Message
from durable.states import CheckpointKind
from tests.bench import conversing, kit, text
from tests.bench.meter import Meter
from tests.bench.ours import agents, engine


def measure() -> kit.Figures:
    """What a conversation costs, stored and written, and its turns early and late."""
    told = text.conversation(conversing.TURNS)
    engine.drive("bench conversation", 2)
    agents.begun.clear()
    run = engine.start("bench conversation", len(told))
    meter = Meter()
    engine.finish(run)
    agents.begun.append(kit.now())
    kit.done(Message.objects.filter(branch=run.branch_id).count(), 2 * len(told), "messages")
    kept = Checkpoint.objects.filter(run=run, kind=CheckpointKind.STEP.value)
    kit.done(kept.count(), 2 * len(told) - 1, "checkpoints")  # the last step's is that of the end
    return conversing.figures(told, meter, agents.begun)
