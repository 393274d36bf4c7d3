"""Celery's bare hop: a message, and a worker that begins."""

from __future__ import annotations

from tests.bench import hops, kit
from tests.bench.bell import Bell
from tests.bench.limit import tasks


def measure() -> kit.Figures:
    """Milliseconds to the beginning; how many a second are sent, and begin out of a backlog."""
    bell, taken = Bell(), []
    with tasks.worker(hops.CHILDREN):
        for number in range(hops.SINGLE):
            begin = kit.now()
            tasks.ring.delay(bell.port, str(number))
            taken.append(bell.heard(str(number)) - begin)
    sending = kit.timed(lambda: [tasks.ring.delay(bell.port, "one") for _ in range(hops.BACKLOG)])
    with tasks.stage() as on:
        on.start(tasks.words(hops.CHILDREN))
        begun = bell.rate("one", hops.BACKLOG)
    return hops.spread("to the first step", taken) | {
        "started by one client": kit.rate(hops.BACKLOG, sending),
        "begun by one worker": begun,
    }
