"""Long-lived processes show their garbage collector nothing of what they have loaded for good."""

from __future__ import annotations

import os
import subprocess
import sys

from local.throwaway import ROOT

#: Classes are always the collector's business: every one that it still sees was loaded too late.
ASK = """
import gc, sys
assert "approvals.views.home" in sys.modules
kept = [one for one in gc.get_objects() if isinstance(one, type)]
print(gc.get_freeze_count(), len(kept))
"""


def test_a_web_process_has_loaded_its_pages_and_hidden_them_from_the_collector() -> None:
    asked = subprocess.run(
        [sys.executable, "-c", f"import durable.wsgi{ASK}"],
        capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ | {"STATIC_HASHED": "false"},
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    frozen, kept = map(int, asked.stdout.split())
    assert frozen > 100_000
    assert kept < 20
