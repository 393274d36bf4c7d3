"""What code and tests import is what the requirements name, each once; no file names a package registry."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = {"durable", "approvals", "standin", "local", "proof", "tests"}
#: Parts of Celery, pydantic and LangGraph, each of one version with its whole.
PARTS = {"kombu", "pydantic_core", "langchain_core"}
#: Imported by plugins of the tests alone, which the product never loads.
OF_THE_TESTS = {"coverage", "pytest"}
REGISTRIES = re.compile(r"\b(?:pypi|pythonhosted|npmjs|crates)\.(?:org|com|io)\b")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def declared(*files: str) -> list[str]:
    """The packages that files of requirements name, in small letters and with hyphens, in their order."""
    lines = [line for file in files for line in (ROOT / file).read_text().splitlines()]
    return [match[0].lower() for line in lines if (match := re.match(r"[A-Za-z0-9][A-Za-z0-9_-]*", line))]


def foreign(places: Iterable[Path]) -> set[str]:
    """What the modules in some folders import that is neither Python's own nor of this repository."""
    names = {name for place in places for path in place.rglob("*.py") for name in imported(path)}
    return names - set(sys.stdlib_module_names) - OURS


def undeclared(names: set[str], known: Iterable[str]) -> set[str]:
    """Those of some names that no package among `known` brings."""
    owners = packages_distributions()
    return {
        name
        for name in names - PARTS
        if not {owner.lower().replace("_", "-") for owner in owners.get(name, [name])} & {*known}
    }


def test_every_import_of_the_product_is_a_declared_requirement() -> None:
    names = foreign(ROOT / place for place in OURS - {"tests"}) - OF_THE_TESTS

    assert "django" in names
    assert undeclared(names, declared("requirements.in")) == set()


def test_every_import_of_the_tests_is_a_declared_requirement() -> None:
    known = declared("requirements.in", "requirements-dev.in")
    names = foreign([ROOT / "tests"]) | OF_THE_TESTS
    # A peer of the benchmark has an environment of its own, with what its own file names.
    peers = sorted((ROOT / "tests/bench").glob("*/requirements.txt"))
    of_peers = declared(*(str(path.relative_to(ROOT)) for path in peers))

    assert {"requests", "playwright"} <= names and len(peers) == 3
    assert undeclared(names, [*known, *of_peers]) == set()


def test_every_requirement_is_declared_once() -> None:
    found = Counter(declared("requirements.in", "requirements-dev.in"))

    assert len(found) > 20
    assert [name for name, times in found.items() if times > 1] == []


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
