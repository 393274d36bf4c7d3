"""The peers: columns with requirements of their own, each measured in an environment that holds these and no more."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent


def known() -> list[str]:
    """Return the names of all peers."""
    return sorted(file.parent.name for file in HERE.glob("*/requirements.txt"))


def python(column: str, environments: Path) -> Path:
    """Return the Python that a column is measured with; for a peer its environment is made where it is missing."""
    requirements = HERE / column / "requirements.txt"
    if not requirements.exists():
        return Path(sys.executable)
    home = environments / column
    ready = home / "ready"
    if not ready.exists() or ready.read_text() != requirements.read_text():
        print(f"making the environment of {column}", file=sys.stderr, flush=True)
        _run([sys.executable, "-m", "venv", "--clear", home])
        _run([home / "bin" / "python", "-m", "pip", "install", "--quiet", "--requirement", requirements])
        ready.write_text(requirements.read_text())
    return home / "bin" / "python"


def versions(column: str) -> str:
    """Return what a peer's requirements pin, for the head of the table."""
    lines = (HERE / column / "requirements.txt").read_text().split()
    return ", ".join(line.replace("==", " ") for line in lines if not line.startswith("psycopg"))


def _run(words: Sequence[str | Path]) -> None:
    subprocess.run([str(word) for word in words], check=True)
