"""Who erases is killed by a real SIGKILL around each of its commits; the next goes on, and nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from durable import erasure_list, tasks
from durable.models import Erasure, LedgerEvent, Run
from tests.engine import people, rooted
from tests.engine.erasure import ask, by_ann, content, holds_canary, kept_outside, left, pages, told_by_zoe
from tests.vendors import Vendor, vendor, vendor_process

__all__ = ["kept_outside", "vendor", "vendor_process"]

pytestmark = [
    pytest.mark.process, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("world"),
]  # fmt: skip

_DIES = """
import os, signal, sys, django
django.setup()
from durable import faults, tasks
faults.arm(sys.argv[1], lambda: os.kill(os.getpid(), signal.SIGKILL))
tasks.erase(int(sys.argv[2]))
"""
#: Each death in turn, with how many runs are erased afterwards, and whether the erasure says that it is done.
DEATHS = [
    ("erase.before_commit", 0, False), ("erase.after_commit", 1, False),
    ("erase.before_commit", 1, False), ("erase.after_commit", 2, False),
    ("erase.before_commit", 2, False), ("erase.after_commit", 2, True),
]  # fmt: skip


def test_whoever_erases_may_be_killed_at_every_commit_and_nothing_readable_is_left(
    vendor: Vendor, kept_outside: Path
) -> None:
    hers, other = told_by_zoe(vendor), by_ann(vendor)
    untouched = content(other)
    rooted.root_and_keep()
    made = ask()
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "durable.settings",
        "INTERLOCK_ERASURE_FILE": str(kept_outside),
    }
    for point, gone, done in DEATHS:
        died = subprocess.run(
            [sys.executable, "-c", _DIES, point, str(made.pk)], env=env, check=False, timeout=300
        )
        assert died.returncode == -9
        emptied = Run.objects.filter(pk__in=[run.pk for run in hers], input={}).count()
        told = LedgerEvent.objects.filter(kind="erased").count()
        assert (emptied, told, Erasure.objects.get().done_at is not None) == (gone, gone, done), point
    tasks.erase()

    assert left() == []
    assert [
        address for address, page in pages(people.person("ada"), hers).items() if holds_canary(page)
    ] == []
    assert content(other) == untouched
    lines, torn = erasure_list.read(kept_outside.read_text().splitlines())
    assert {ref for line in lines for ref in line.runs} == {run.ref for run in hers} and torn == []
    assert LedgerEvent.objects.filter(kind="erasure ended").count() == 1
    rooted.root_and_keep()
    assert rooted.said("verify", "--anchors", str(rooted.kept()))[1].splitlines()[-1] == "everything holds"
