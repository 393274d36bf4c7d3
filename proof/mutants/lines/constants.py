"""Constants that follow from others: a statement of SQL, say, whose fence stands in another module."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache

from proof.mutants.lines import change

PACKAGES = ("durable", "approvals")
#: Path, what the constant is called, and its value.
Definition = tuple[str, str, ast.expr]


def following(names: Iterable[str]) -> set[str]:
    """The names, and those of all constants whose value says one of them, directly or by another constant."""
    found = set(names)
    while more := {name for _, name, value in definitions() if said(value) & found} - found:
        found |= more
    return found


def said(value: ast.expr) -> set[str]:
    """Every plain name that an expression says."""
    return {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}


@cache
def definitions() -> tuple[Definition, ...]:
    """Every constant that stands at the top of a module of the product."""
    return tuple(_definitions())


def _definitions() -> Iterator[Definition]:
    for package in PACKAGES:
        for path in sorted((change.ROOT / package).rglob("*.py")):
            for top in ast.parse(path.read_text()).body:
                for name in assigned(top):
                    value = getattr(top, "value", None)
                    if isinstance(value, ast.expr):
                        yield str(path.relative_to(change.ROOT)), name, value


def assigned(top: ast.stmt) -> Iterator[str]:
    """The names that a statement assigns to."""
    targets = top.targets if isinstance(top, ast.Assign) else [getattr(top, "target", None)]
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id
