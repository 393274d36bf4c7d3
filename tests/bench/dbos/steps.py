"""Workflows of small steps, one after the other and several at once in threads."""

from __future__ import annotations

from dbos import DBOS

from tests.bench import kit
from tests.bench.dbos import engine
from tests.bench.kit import SIZES


@DBOS.step()
def count(no: int) -> int:
    """A step that does nothing."""
    return no


@DBOS.workflow()
def turns(length: int) -> int:
    """So many of them."""
    for no in range(length):
        count(no)
    return length


def measure() -> kit.Figures:
    """Steps a second."""
    engine.launch()
    turns(SIZES.steps)
    begin = kit.now()
    for _ in range(SIZES.runs):
        turns(SIZES.steps)
    alone = kit.now() - begin
    begin = kit.now()
    for handle in [DBOS.start_workflow(turns, SIZES.steps) for _ in range(SIZES.wide)]:
        handle.get_result()
    together = kit.now() - begin
    there = kit.one(kit.connect(), "SELECT count(*) FROM dbos.operation_outputs")
    kit.done(there, (1 + SIZES.runs + SIZES.wide) * SIZES.steps, "steps")
    return {
        "one run": kit.rate(SIZES.runs * SIZES.steps, alone),
        "many runs": kit.rate(SIZES.wide * SIZES.steps, together),
    }
