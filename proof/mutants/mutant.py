"""One way to break the engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Edit:
    """Words of a file, and what stands there instead."""

    path: str
    old: str
    new: str

    def found(self, root: Path) -> int:
        """How often the words stand in the file: once, or the edit means nothing."""
        return (root / self.path).read_text().count(self.old)

    def apply(self, root: Path) -> None:
        """Put it into a copy of the tree. Raises ValueError where the words are not there, or not there once."""
        if self.found(root) != 1:
            raise ValueError(f"{self.path}: {self.old!r} stands there {self.found(root)} times")
        file = root / self.path
        file.write_text(file.read_text().replace(self.old, self.new))


@dataclass(frozen=True)
class Mutant:
    """A guard of the model, broken in the code by `edits`; `tests` are pytest's words for those that must fail."""

    guard: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


def mutant(guard: str, path: str, old: str, new: str, *tests: str) -> Mutant:
    """A mutant of one edit."""
    return Mutant(guard, (Edit(path, old, new),), tests)
