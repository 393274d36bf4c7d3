"""`python -m proof.nursery QUEUE=POINT[:HIT]...`: Celery workers that die, forked from one process that has loaded all.

Each is a whole worker with a pool of its own, as `proof.worker` starts one; only the second of loading is spared.
Prints one line of JSON: for each queue how its worker ended, negative for a signal, 0 for one that had to be stopped.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from local.process import die_with_parent, kill_group
from proof.dying import arm, lead_a_group
from proof.worker import arguments

#: Workers that live side by side: more would only wait for the processors.
AT_ONCE = 4
#: Seconds in which a worker must have come to its point.
_PATIENCE = 90.0


@dataclass
class Child:
    """A worker that is to die."""

    queue: str
    pid: int
    until: float


def command(points: dict[str, str]) -> tuple[str, ...]:
    """Return the words that start a nursery: for each queue the point at which its worker dies."""
    python = (sys.executable, "-W", "ignore::UserWarning:celery.platforms", "-m", "proof.nursery")
    return (*python, *(f"{queue}={point}" for queue, point in points.items()))


def main(words: Sequence[str]) -> int:
    """Load once, fork one worker a word, and tell how each ended."""
    from durable.celery import app

    app.loader.import_default_modules()
    waiting = [word.partition("=")[::2] for word in words]
    living: list[Child] = []
    codes: dict[str, int] = {}
    while waiting or living:
        while waiting and len(living) < AT_ONCE:
            living.append(_fork(*waiting.pop(0)))
        living = [child for child in living if not _ended(child, codes)]
        time.sleep(0.02)
    print(json.dumps(codes), flush=True)
    return 0


def _fork(queue: str, point: str) -> Child:
    tie = die_with_parent(signal.SIGKILL)
    pid = os.fork()
    if pid:
        return Child(queue, pid, time.monotonic() + _PATIENCE)
    try:
        lead_a_group()
        if tie is not None:
            tie()
        arm(point)
        from durable.celery import app

        app.worker_main(arguments(queue, queue))
    finally:
        os._exit(1)


def _ended(child: Child, codes: dict[str, int]) -> bool:
    pid, status = os.waitpid(child.pid, os.WNOHANG)
    if pid:
        codes[child.queue] = os.waitstatus_to_exitcode(status)
        return True
    if time.monotonic() > child.until:
        kill_group(child.pid)
        os.waitpid(child.pid, 0)
        codes[child.queue] = 0
        return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
