"""`manage.py story` plays its story on real processes, brings its own services, and leaves nothing running."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from durable import runs
from proof import four_refunds, story

pytestmark = pytest.mark.process
ROOT = Path(__file__).resolve().parents[2]
#: What the tests' own services put into the environment: the story must bring its own.
OURS = ("DATABASE", "CELERY", "INTERLOCK", "DJANGO_SECRET", "STATIC", "PYTEST", "STRIPE", "SHOP")
#: Inherited by whatever the story starts.
MARK = "STORY_TEST_MARK"
TOLD = r"""start  run-4711
  refund    s1 -> (re_\w+) for 10
  refund    s2 -> (re_\w+) for 25
  CRASH     after acting on s3, before recording it
resume run-4711 at step 2
  reconcile s3 -> it did happen, adopting (re_\w+)
  refund    s4 -> (re_\w+) for 5

payments that actually moved: \[10, 25, 40, 5\]
total moved: 80   ledger total: 80   steps done: 4/4
without idempotency the same resume moves: \[40, 40\]
the same, once it looks before it repeats: \[40\]
"""


def test_the_story_ends_well_and_leaves_nothing_running() -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    env[MARK] = str(uuid4())

    told = subprocess.run(
        [sys.executable, "manage.py", "story"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=90
    )

    assert told.returncode == 0, told.stdout + told.stderr
    found = re.fullmatch(TOLD, told.stdout)
    assert found is not None, told.stdout
    assert len(set(found.groups())) == 4
    assert [process for process in psutil.process_iter() if bears(process, env[MARK])] == []


def bears(process: psutil.Process, mark: str) -> bool:
    """Whether a process descends from the one that was given the mark. Other tests have stories of their own."""
    try:
        return process.environ().get(MARK) == mark
    except (psutil.Error, OSError):
        return False


def test_a_story_that_could_not_be_played_is_no_success(transactional_db: Any) -> None:
    paid = {"order": "8812", "charge": "ch_1"}
    runs.start(four_refunds.FourRefunds.name, paid, actor="tests", ref=story.RUN)
    said: list[str] = []

    assert story.tell(said.append) == 1
    assert "unset DATABASE_URL" in said[0]
