"""A change put into a running process: into the very functions and classes that all modules have imported by name."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import Any

from proof.mutants.lines import constants
from proof.mutants.lines.change import Change, Source


class Untried(Exception):
    """The change can't be put into a running process."""


class Breaks(Exception):
    """The change fails where the module is imported: whoever starts the product notices it."""


def transplant(change: Change) -> None:
    """Put a change into this process. Raises Untried or Breaks.

    Only the module's own statement that holds it is executed anew, in a copy of the module's names, and what it defines
    goes into the old objects, so that nothing else becomes another object than it was.
    """
    module = importlib.import_module(_module_name(change.path))
    broken = ast.parse(change.applied(Source(change.path).text))
    holding = [top for top in broken.body if _first(top) <= change.line <= (top.end_lineno or 0)]
    if len(holding) != 1:
        raise Untried("no statement of the module holds it")
    names = dict(vars(module))
    future = [top for top in broken.body if isinstance(top, ast.ImportFrom) and top.module == "__future__"]
    try:
        exec(compile(ast.Module([*future, *holding], []), module.__file__ or "", "exec"), names)
    except Exception as error:
        raise Breaks(f"{type(error).__name__}: {error}") from error
    top = holding[0]
    if isinstance(top, (ast.FunctionDef, ast.ClassDef)):
        _replace(vars(module)[top.name], names[top.name])
        return
    if not change.names:
        raise Untried("its statement gives nothing a name")
    for name in change.names:
        _put_everywhere(module, name, names[name])
    _follow(change.names)


def _module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _follow(names: Sequence[str]) -> None:
    """Work out anew every constant that follows from those, each after the ones that it says itself."""
    wanted = constants.following(names) - set(names)
    waiting = [one for one in constants.definitions() if one[1] in wanted]
    while waiting:
        later = {name for _, name, _ in waiting}
        ready = [one for one in waiting if not constants.said(one[2]) & later - {one[1]}]
        if not ready:
            raise Untried(f"{', '.join(sorted(later))} follow from each other")
        for path, name, value in ready:
            module = sys.modules.get(_module_name(path))
            if module is not None:
                code = compile(ast.Expression(value), path, "eval")
                _put_everywhere(module, name, eval(code, vars(module)))
        waiting = [one for one in waiting if one not in ready]


def _first(top: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(top, "decorator_list", [])
    return min([top.lineno, *(one.lineno for one in decorators)])


def _replace(old: Any, new: Any) -> None:
    """Make an old function or class do what the new one does."""
    if isinstance(old, type):
        _replace_in_class(old, new)
        return
    while hasattr(old, "__wrapped__") and hasattr(new, "__wrapped__"):
        old, new = old.__wrapped__, new.__wrapped__
    if not isinstance(old, FunctionType) or len(old.__code__.co_freevars) != len(new.__code__.co_freevars):
        raise Untried(f"{old!r} can't be given another body")
    old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__


def _replace_in_class(old: type, new: type) -> None:
    for name, value in vars(new).items():
        before = vars(old).get(name)
        if isinstance(value, FunctionType):
            if name == "__init__" and value.__code__.co_filename == "<string>":
                old.__init__ = value  # type: ignore[misc]  # a dataclass's own: its defaults stand in its closure
            elif value.__code__.co_filename != "<string>":
                _replace(before, value)
        elif isinstance(value, property) and isinstance(before, property):
            _replace(before.fget, value.fget)
        elif isinstance(value, (classmethod, staticmethod)):
            _replace(before.__func__, value.__func__)  # type: ignore[union-attr]  # the same kind in the old class
        elif isinstance(value, (int, float, str, tuple, frozenset)) and value != before and name[:2] != "__":
            setattr(old, name, value)


def _put_everywhere(module: ModuleType, name: str, value: Any) -> None:
    """Give a constant its new value wherever it was imported under its name."""
    before = vars(module)[name]
    if before == value:
        return
    for other in list(sys.modules.values()):
        if getattr(other, "__dict__", {}).get(name) is before:
            setattr(other, name, value)
