"""The pruner is killed by a real SIGKILL before and after its commits; the next one goes on, and all is told once."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from durable.models import Checkpoint, LedgerEvent, RetentionPass, Run
from durable.retention import passes
from tests.engine import agents, desk

pytestmark = [
    pytest.mark.process, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("world"),
]  # fmt: skip

_DIES = """
import os, signal, sys, django
django.setup()
from durable import faults
from durable.retention import passes, pruning
pruning.BITE = 3
faults.arm(sys.argv[1], lambda: os.kill(os.getpid(), signal.SIGKILL), hit=int(sys.argv[2]))
passes.daily()
"""


@pytest.mark.parametrize(("point", "hit"), [("prune.before_commit", 4), ("prune.after_commit", 4)])
def test_a_pruner_killed_at_any_bite_is_gone_on_with_and_what_went_is_told_once(point: str, hit: int) -> None:
    runs: list[Run] = [desk.drive(agents.start("Looper", {"turns": 7})) for _ in range(2)]
    desk.time_passes(days=30)
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "durable.settings"}
    died = subprocess.run([sys.executable, "-c", _DIES, point, str(hit)], env=env, check=False, timeout=120)
    assert died.returncode == -9
    half = RetentionPass.objects.get()
    assert half.ended_at is None and 0 < half.checkpoints < 14
    done = passes.daily()
    assert done.pk == half.pk and done.ended_at is not None and (done.runs, done.checkpoints) == (2, 14)
    assert [Checkpoint.objects.filter(run=run).count() for run in runs] == [1, 1]
    told = [json.loads(one.body)["checkpoints"] for one in LedgerEvent.objects.filter(kind="pruned")]
    assert sum(told) == 14
    assert LedgerEvent.objects.filter(kind="retention passed").count() == 1
