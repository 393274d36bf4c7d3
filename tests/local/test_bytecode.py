"""Where Python may keep nothing beside the sources, what one process has compiled is there for the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local import bytecode


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that says 1, in an environment in which nothing is kept."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    found = tmp_path / "saying.py"
    found.write_text("WORD = 1\n")
    return found


def said_by_a_process(module: Path) -> str:
    words = [sys.executable, "-c", "import saying; print(saying.WORD)"]
    env = {**os.environ, "PYTHONPATH": str(module.parent)}
    return subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout.strip()


def rewritten(module: Path) -> None:
    """Change it so that nobody who has it compiled can tell."""
    when = module.stat().st_mtime
    module.write_text("WORD = 2\n")
    os.utime(module, (when, when))


def test_a_process_uses_what_another_has_compiled_and_nothing_lies_beside_the_sources(module: Path) -> None:
    with bytecode.shared():
        assert said_by_a_process(module) == "1"
        rewritten(module)

        assert said_by_a_process(module) == "1"
    assert list(module.parent.iterdir()) == [module]


def test_afterwards_all_is_as_it_was_and_the_folder_is_gone(module: Path) -> None:
    with bytecode.shared():
        assert said_by_a_process(module) == "1"
        folder = Path(os.environ["PYTHONPYCACHEPREFIX"])
        assert list(folder.rglob("saying*.pyc"))
        rewritten(module)

    assert said_by_a_process(module) == "2"
    assert not folder.exists()
    assert sys.dont_write_bytecode
    assert os.environ["PYTHONDONTWRITEBYTECODE"] == "1"
    assert "PYTHONPYCACHEPREFIX" not in os.environ


def test_where_python_keeps_what_it_compiles_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = dict(os.environ)
    with bytecode.shared():
        assert dict(os.environ) == before
