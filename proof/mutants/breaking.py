"""Breaking a copy of the product, and seeing whether its tests notice."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proof.mutants.catalogue import ALL
from proof.mutants.mutant import Mutant
from proof.report import Row, Say

ROOT = Path(__file__).resolve().parents[2]
#: What a copy needs to run its tests.
FOLDERS = ("durable", "approvals", "standin", "local", "proof", "tests", "templates", "static")
FILES = ("manage.py", "pyproject.toml")
#: pytest's exit code for tests that failed; any other is no finding about the mutant.
FAILED = 1
#: Copies that are tested side by side.
AT_ONCE = 2
_LONGEST = 600


def prove(say: Say, *, names: Sequence[str] = ()) -> list[Row]:
    """Break the named guards, or all. A violation is a break that no test noticed, or that could not be tried."""
    began = time.monotonic()
    wanted = [one for one in ALL if not names or one.guard in names]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda one: (one, _noticed(one)), wanted))
    violations = []
    for one, wrong in found:
        say(f"{one.guard}: {wrong or 'noticed'}")
        if wrong:
            violations.append(f"{one.guard}: {wrong}")
    return [Row("guards broken in the code", len(wanted), tuple(violations), time.monotonic() - began)]


def _noticed(mutant: Mutant) -> str:
    """What is wrong with how a break was noticed; nothing where a test failed as it should."""
    with tempfile.TemporaryDirectory(prefix="interlock-mutant-") as folder:
        copy = Path(folder)
        _copy(copy)
        try:
            for edit in mutant.edits:
                edit.apply(copy)
        except ValueError as error:
            return str(error)
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests]
        try:
            done = subprocess.run(words, cwd=copy, capture_output=True, text=True, timeout=_LONGEST)
        except subprocess.TimeoutExpired:
            return ""  # a run that never ends is noticed by whoever waits for it
    if done.returncode == FAILED:
        return ""
    return f"its tests ended with {done.returncode}: {(done.stdout.strip() or done.stderr.strip()).splitlines()[-1]}"


def _copy(into: Path) -> None:
    for name in FOLDERS:
        shutil.copytree(ROOT / name, into / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, into / name)
