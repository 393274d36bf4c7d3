"""Whoever asks a checker to look away says why, in the same line."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("durable", "approvals", "standin", "local", "proof", "tests")
#: What a checker reads, with the names of what it shall not say.
LOOKS_AWAY = re.compile(r"#\s*(?:type:\s*ignore|noqa|pragma:)[^#]*")


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """The comments of a file, with their lines."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def unexplained(comment: str) -> bool:
    """Whether it makes a checker look away, and says no more than that."""
    return bool(LOOKS_AWAY.match(comment)) and not LOOKS_AWAY.sub("", comment).strip("# ")


def test_no_checker_looks_away_without_a_reason_beside_it() -> None:
    files = [ROOT / "manage.py", *(path for place in PLACES for path in (ROOT / place).rglob("*.py"))]
    found = [
        f"{path.relative_to(ROOT)}:{line}: {comment}"
        for path in files
        for line, comment in comments(path)
        if unexplained(comment)
    ]

    assert len(files) > 300
    assert found == []


@pytest.mark.parametrize(
    ("comment", "bad"),
    [
        ("# type: ignore[misc]", True),
        ("# noqa: F401", True),
        ("# type: ignore[misc]  # noqa: F821", True),
        ("# pragma: no cover", True),
        ("# type: ignore[misc]  # has no setter", False),
        ("# type: ignore[name-defined]  # noqa: F821  # a name that nothing has", False),
        ("# what a test ignores", False),
    ],
)
def test_a_reason_is_told_from_none(comment: str, bad: bool) -> None:
    assert unexplained(comment) is bad
