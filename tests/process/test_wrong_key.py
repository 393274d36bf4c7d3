"""A process that was given another installation's key does not start, and says why in one line."""

from __future__ import annotations

import base64
import sys

import pytest

from durable import runs
from durable.models import Attempt
from proof import worker
from proof.stage import SWEEPER, Stage

pytestmark = pytest.mark.process
BEAT = (sys.executable, "-m", "celery", "-A", "durable.celery", "--quiet", "beat", "--pidfile=")


def test_no_worker_beat_sweeper_or_command_starts_with_a_wrong_key(on: Stage) -> None:
    run = runs.start("RefundDesk", {"order": "8812", "wants": "money"}, actor="tests")
    wrong = {"INTERLOCK_SEAL_KEY": base64.b64encode(b"another" * 4 + b"key!").decode()}
    start = (sys.executable, "manage.py", "start", "RefundDesk")
    begun = [on.start(words, **wrong) for words in (worker.command("runs", "wrong"), BEAT, SWEEPER, start)]
    codes = [child.wait(60) for child in begun]
    told = on.said().splitlines()
    assert all(codes), told
    assert len(told) == len(begun)
    assert all("INTERLOCK_SEAL_KEY does not open" in line and run.ref in line for line in told)
    assert not Attempt.objects.exists()
