"""The builder of roots is killed by a real SIGKILL at every beat; whoever comes next goes on, and everything holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from durable.models import Anchor, Root
from durable.models.fields import Clock
from durable.roots import builder, keeping
from durable.roots.statement import from_line
from tests.engine import rooted
from tests.engine.rooted import begun, file, tell

__all__ = ["file"]

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]

_DIES = """
import os, signal, sys, django
django.setup()
from durable import faults, tasks
faults.arm(sys.argv[1], lambda: os.kill(os.getpid(), signal.SIGKILL))
tasks.roots()
"""
POINTS = (
    "mark.after_commit", "root.before_commit", "root.after_commit", "keep.after_commit", "anchor.before_call",
    "anchor.after_call", "keep.before_commit",
)  # fmt: skip


@pytest.mark.parametrize("point", POINTS)
def test_a_builder_killed_at_any_beat_loses_no_root_and_keeps_none_from_its_anchor(
    point: str, file: Path
) -> None:
    run = begun()
    tell(run, 3)
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "durable.settings", "INTERLOCK_ANCHOR_FILE": str(file)}
    died = subprocess.run([sys.executable, "-c", _DIES, point], env=env, check=False, timeout=120)
    assert died.returncode == -9
    made = Root.objects.count()
    assert made == (0 if point.startswith(("mark", "root.before")) else 1)
    tell(run)
    Anchor.objects.update(due_at=Clock())
    builder.build()
    assert keeping.keep() == 0
    kept = [from_line(line)[0] for line in file.read_text().splitlines()]
    assert list(dict.fromkeys(kept)) == list(
        Root.objects.order_by("number").values_list("statement", flat=True)
    )
    assert len(kept) - len(set(kept)) == (point == "anchor.after_call")  # told once more, and the same
    code, told = rooted.said("verify", "--anchors", str(file))
    assert (code, told.splitlines()[-1]) == (0, "everything holds")
