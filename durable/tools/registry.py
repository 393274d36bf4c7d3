"""All tools that have been declared, by name. An unknown name is refused, never guessed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from durable.errors import UnknownTool
from durable.text import cut, mend
from durable.tools.facts import Misdeclared

if TYPE_CHECKING:
    from durable.tools.definition import Tool

_tools: dict[str, Tool] = {}


def register(tool: Tool) -> None:
    """Add `tool`. The same function again (a module read twice) replaces itself; another is `Misdeclared`."""
    known = _tools.get(tool.name)
    if known is not None and _origin(known) != _origin(tool):
        raise Misdeclared(
            f"two tools are called {tool.name}: {_place(known)} and {_place(tool)}; give one of them name=..."
        )
    _tools[tool.name] = tool


def get(name: str) -> Tool:
    """The tool called `name`."""
    found = _tools.get(name)
    if found is None:
        shown = cut(mend(str(name)), 60)
        raise UnknownTool(
            "tool", f"{shown!r} is not registered; known are {', '.join(sorted(_tools)) or 'none'}"
        )
    return found


def all_tools() -> tuple[Tool, ...]:
    """All tools, by name."""
    return tuple(_tools[name] for name in sorted(_tools))


@contextmanager
def isolated(*, empty: bool = False) -> Iterator[None]:
    """What is declared inside the block is forgotten after it: for tests that declare tools of their own.

    With `empty`, the block begins without any, so that its names clash with none of the product's.
    """
    before = dict(_tools)
    if empty:
        _tools.clear()
    try:
        yield
    finally:
        _tools.clear()
        _tools.update(before)


def _origin(tool: Tool) -> tuple[str, str]:
    code = getattr(tool.function, "__code__", None)
    return (getattr(code, "co_filename", tool.function.__module__), tool.function.__qualname__)


def _place(tool: Tool) -> str:
    return f"{tool.function.__module__}.{tool.function.__qualname__}"
