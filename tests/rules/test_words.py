"""One word for one thing: what the product calls a run, a step or a decision has no second name in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Each with the word to use in its place.
BANNED = {
    "activity": "step",
    "blob": "checkpoint",
    "dispatch": "release or send",
    "job": "run",
    "node": "step",
    "park": "suspend",
    "reap": "sweep",
    "rollback": "undo",
    "vote": "decision",
    "workflow": "agent or run",
}


def names(tree: ast.AST) -> Iterator[str]:
    """Every name that the code itself gives: of classes, functions, arguments and variables."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_a_name_comes_apart_into_its_words() -> None:
    assert words("retryJob_id") == {"retry", "job", "id"}
    assert words("HTTPNode") == {"http", "node"}


def test_no_name_in_the_code_uses_a_banned_word() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}": BANNED[word]
        for place in ("durable", "approvals")
        for path in sorted((ROOT / place).rglob("*.py"))
        for name in names(ast.parse(path.read_text()))
        for word in words(name) & BANNED.keys()
    }

    assert found == {}
