"""A change of a few characters in one file, and where in the file they stand."""

from __future__ import annotations

import ast
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Placed = ast.expr | ast.stmt
ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Change:
    """`new` in place of the characters `start` to `end` of a file. `kind` says in words what was done to it.

    `lines` are the first and the last line that only a test which runs them can notice; `names` are given instead where
    the change stands outside of any function: whoever runs a line that says one of them may notice.
    """

    path: str
    line: int
    kind: str
    old: str
    new: str
    start: int
    end: int
    lines: tuple[int, int]
    names: tuple[str, ...] = ()

    def applied(self, text: str) -> str:
        """The file's text with the change in it. Raises ValueError where the text is another one than was read."""
        if text[self.start : self.end] != self.old:
            raise ValueError(f"{self.path}:{self.line} no longer says {self.old!r}")
        return text[: self.start] + self.new + text[self.end :]

    def told(self) -> str:
        """One line for people."""
        shown = " ".join(self.old.split()), " ".join(self.new.split()) or "(nothing)"
        return f"{self.path}:{self.line} {self.kind}: {shown[0][:90]} -> {shown[1][:90]}"

    def stored(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Change:
        return cls(**{**stored, "lines": tuple(stored["lines"]), "names": tuple(stored["names"])})


class Source:
    """The text of a module and its tree, whose places are characters here and bytes there."""

    def __init__(self, path: str, text: str | None = None) -> None:
        self.path = path
        self.text = (ROOT / path).read_text() if text is None else text
        self.tree = ast.parse(self.text)
        self._starts = [0]
        for line in self.text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: Placed) -> tuple[int, int]:
        """The characters of a node: from, and up to."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def line_of(self, place: int) -> int:
        return self.text.count("\n", 0, place) + 1

    def _place(self, line: int, byte: int) -> int:
        start = self._starts[line - 1]
        words = self.text[start : self._starts[line]]
        return start + len(words.encode()[:byte].decode())
