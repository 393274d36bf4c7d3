"""A bare Celery worker that has nothing to do."""

from __future__ import annotations

import psutil

from tests.bench import kit, usage
from tests.bench.limit import tasks


def measure() -> kit.Figures:
    """What it uses."""
    with tasks.worker(1) as on:
        found = usage.watch([psutil.Process(on.children[0].pid)])
    return {"worker": found.memory, "processor": found.cpu}
