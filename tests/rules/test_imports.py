"""The import rules of pyproject.toml hold, and each of them fails when it is broken."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("durable", "approvals", "standin", "local", "proof")
#: One line a contract, in a module that its contract watches.
BREAKS = {
    "Inside durable imports point down": ("durable/states.py", "from durable import journal"),
    "The engine reaches nothing that stands on it": ("durable/clock.py", "from approvals import apps"),
    "The console asks the engine's doors": ("approvals/apps.py", "from durable import transitions"),
    "The vendor stand-in is a stranger": ("standin/rules.py", "from durable import errors"),
    "Only adapters speak to vendors": ("durable/journal.py", "import smtplib, stripe, urllib3"),
}


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [program, "--no-logo", "--no-cache"], cwd=tree, capture_output=True, text=True, check=False
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the code that may be broken."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_import_rule_holds() -> None:
    answer = lint(ROOT)

    assert answer.returncode == 0, answer.stdout


def test_every_import_rule_fails_when_broken(tree: Path) -> None:
    for file, line in BREAKS.values():
        with (tree / file).open("a") as out:
            out.write(f"\n{line}\n")

    answer = lint(tree)

    assert answer.returncode != 0
    broken = re.findall(r"^(.+) BROKEN\b", answer.stdout, re.MULTILINE)
    for start in BREAKS:
        assert any(name.startswith(start) for name in broken), f"still kept: {start}"
    ways = re.findall(r"\bdurable\.journal -> (\w+) ", answer.stdout)
    assert {*ways} == {"smtplib", "stripe", "urllib3"}, (
        "there is a way to vendors that the rule does not know"
    )


def test_a_module_that_no_layer_names_is_refused(tree: Path) -> None:
    (tree / "durable/stray.py").write_text("")

    answer = lint(tree)

    assert answer.returncode != 0
    assert "stray" in answer.stdout


def test_there_is_a_break_for_every_rule() -> None:
    rules = re.findall(r'^name = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)

    assert len(rules) - 1 == len(BREAKS)  # the first is the project's own name
