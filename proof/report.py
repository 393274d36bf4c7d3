"""What a part of the proof says at its end: how much it tried, what it found wrong, and how to see it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

Say = Callable[[str], object]


@dataclass(frozen=True)
class Row:
    """One line of the table: `tried` cases of `what`, and each violation as one sentence.

    `remark` says what else is worth knowing: bounds, counts of what was met, what was left out and why. `again` is the
    command that shows a violation again.
    """

    what: str
    tried: int
    violations: tuple[str, ...] = ()
    seconds: float = 0.0
    remark: str = ""
    again: str = ""

    @property
    def sound(self) -> bool:
        """Whether something was tried and nothing found wrong. A part that tried nothing has shown nothing."""
        return self.tried > 0 and not self.violations


@dataclass
class Tally:
    """Collects the rows of a proof as its parts end."""

    rows: list[Row] = field(default_factory=list)

    def add(self, rows: Iterable[Row]) -> None:
        self.rows.extend(rows)

    def sound(self) -> bool:
        return bool(self.rows) and all(row.sound for row in self.rows)

    def table(self) -> list[str]:
        """The lines to print: an aligned table, then every violation, with the command that shows it again."""
        widths = [max(len(line[n]) for line in self._cells()) for n in range(4)]
        lines = [
            "  ".join(f"{cell:<{width}}" for cell, width in zip(line[:4], widths, strict=True))
            + f"  {line[4]}"
            for line in self._cells()
        ]
        for row in self.rows:
            lines += [f"VIOLATION in {row.what}: {sentence}" for sentence in row.violations]
            if row.violations and row.again:
                lines.append(f"  again: {row.again}")
        return [line.rstrip() for line in lines]

    def _cells(self) -> list[tuple[str, ...]]:
        head: tuple[str, ...] = ("what", "tried", "violations", "seconds", "remark")
        return [head] + [
            (row.what, f"{row.tried:,}", str(len(row.violations)), f"{row.seconds:.1f}", row.remark)
            for row in self.rows
        ]
