"""The table: medians with their range, and the ratio to the physical limit."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.bench.measures import MEASURES, Row

LIMIT = "limit"
#: What was measured: by measure, column and figure, a value for each repetition.
Taken = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]


@dataclass(frozen=True)
class Cell:
    """A figure of one column: the values of all repetitions, and the median's ratio to the limit's median."""

    values: Sequence[float]
    ratio: float | None

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclass(frozen=True)
class Line:
    """A row of the table."""

    measure: str
    row: Row
    cells: Mapping[str, Cell] = field(default_factory=dict)


def lines(taken: Taken) -> Iterator[Line]:
    """Yield every row that any column has a figure for."""
    for name, columns in taken.items():
        for row in MEASURES[name].rows:
            below = columns.get(LIMIT, {}).get(row.beside or row.figure)
            cells = {
                column: Cell(figures[row.figure], _ratio(figures[row.figure], below))
                for column, figures in columns.items()
                if row.figure in figures
            }
            if cells:
                yield Line(name, row, cells)


def _ratio(values: Sequence[float], below: Sequence[float] | None) -> float | None:
    if not below or not statistics.median(below):
        return None
    return statistics.median(values) / statistics.median(below)


def table(taken: Taken, columns: Sequence[str], facts: str) -> str:
    """Return the table as Markdown: median (least to most) and, in bold, the ratio to the limit."""
    head = ["", "unit", *columns, "goal"]
    text = [facts, ""]
    last = ""
    for line in lines(taken):
        if line.measure != last:
            last = line.measure
            text += [
                "",
                f"**{MEASURES[last].title}** (`{last}`)",
                "",
                _cells(head),
                _cells(["---"] * len(head)),
            ]
        goal = "" if line.row.goal is None else f"{line.row.goal:g} of the limit"
        text.append(
            _cells(
                [line.row.figure, line.row.unit, *(_shown(line.cells.get(name)) for name in columns), goal]
            )
        )
    return "\n".join(text) + "\n"


def _cells(words: Sequence[str]) -> str:
    return "| " + " | ".join(words) + " |"


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return ""
    text = number(cell.median)
    if len(cell.values) > 1:
        text += f" ({number(min(cell.values))} to {number(max(cell.values))})"
    return text if cell.ratio is None else f"{text} **{cell.ratio:.2f}**"


def number(value: float) -> str:
    """Return a figure with three digits that mean something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
