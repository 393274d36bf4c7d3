"""What the code imports is what the requirements name; no file names a package registry."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = {"durable", "approvals", "standin", "local", "proof", "tests"}
#: Imported by plugins of the tests alone, which the product never loads.
OF_THE_TESTS = {"coverage", "pytest"}
REGISTRIES = re.compile(r"\b(?:pypi|pythonhosted|npmjs|crates)\.(?:org|com|io)\b")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def declared(file: str) -> set[str]:
    lines = (ROOT / file).read_text().splitlines()
    return {match[0].lower() for line in lines if (match := re.match(r"[A-Za-z0-9_-]+", line))}


def test_every_import_is_a_declared_requirement() -> None:
    places = [
        path
        for place in ("durable", "approvals", "standin", "local", "proof")
        for path in (ROOT / place).rglob("*.py")
    ]
    names = (
        {name for path in places for name in imported(path)}
        - set(sys.stdlib_module_names)
        - OURS
        - OF_THE_TESTS
    )
    owners = packages_distributions()

    known = declared("requirements.in")
    # Parts of Celery and of pydantic, each of one version with its whole.
    missing = {
        name
        for name in names - {"kombu", "pydantic_core"}
        if not {owner.lower() for owner in owners.get(name, [name])} & known
    }

    assert "django" in names
    assert missing == set()


def test_every_requirement_says_what_it_is_for() -> None:
    lines = [
        line
        for line in (ROOT / "requirements.in").read_text().splitlines()
        if line and not line.startswith("#")
    ]

    assert [line for line in lines if "  # " not in line] == []


def test_every_locked_package_has_a_hash() -> None:
    for lock in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / lock).read_text().replace("\\\n", " ")
        packages = [line for line in text.splitlines() if re.match(r"[a-z0-9]", line)]
        assert len(packages) > 30
        assert [line for line in packages if "--hash=sha256:" not in line] == []


def test_no_file_names_a_package_registry() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    files = [ROOT / name for name in listing.split("\0") if name and not name.startswith("static/vendor/")]
    found = [
        str(path.relative_to(ROOT))
        for path in files
        if path.is_file() and REGISTRIES.search(path.read_text("utf-8", "ignore"))
    ]

    assert found == []
