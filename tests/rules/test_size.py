"""Nothing is too long to be read in one go."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("durable", "approvals", "standin", "local", "proof", "tests", "templates")
LONGEST_FILE = 300
LONGEST_FUNCTION = 50


def files(*endings: str) -> Iterator[Path]:
    for place in PLACES:
        for path in sorted((ROOT / place).rglob("*")):
            if path.suffix in endings and "migrations" not in path.parts:
                yield path


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_no_file_is_longer_than_300_lines() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in files(".py", ".html")
    }

    assert len(lengths) > 20
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_no_function_is_longer_than_50_lines() -> None:
    too_long = {
        f"{path.relative_to(ROOT)}:{function.name}": length(function)
        for path in files(".py")
        for function in functions(path)
        if length(function) > LONGEST_FUNCTION
    }

    assert too_long == {}
