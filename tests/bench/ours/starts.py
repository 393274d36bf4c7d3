"""Starting runs: one after the other to its first step, and many that wait for one worker."""

from __future__ import annotations

from proof.stage import stage
from tests.bench import hops, kit
from tests.bench.bell import Bell
from tests.bench.ours import engine

AGENT = "bench ringing"


def measure() -> kit.Figures:
    """Milliseconds to the first step; how many a second are started, durably, and begin out of a backlog."""
    bell, taken = Bell(), []
    with engine.worker(hops.CHILDREN):
        for number in range(hops.SINGLE):
            begin = kit.now()
            engine.start(AGENT, 1, port=bell.port, word=str(number))
            taken.append(bell.heard(str(number)) - begin)
    begin = kit.now()
    waiting = [engine.start(AGENT, 1, port=bell.port, word="one") for _ in range(hops.BACKLOG)]
    starting = kit.now() - begin
    with stage() as on:
        on.start(engine.words(hops.CHILDREN))
        begun = bell.rate("one", hops.BACKLOG)
        engine.settle(on, waiting)
    return hops.spread("to the first step", taken) | {
        "started by one client": kit.rate(hops.BACKLOG, starting),
        "begun by one worker": begun,
    }
