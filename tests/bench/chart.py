"""The chart: for each figure that the limit has too, how far every column is from it, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from tests.bench.report import LIMIT, Line, Taken, lines

_COLOURS = ("#8b949e", "#1f6feb", "#d29922", "#a371f7", "#2da44e", "#cf222e")
_TITLE = "How many times worse than the physical limit (left of 1: better); black: the goal"
_LEFT, _WIDTH, _BAR, _GAP, _TOP = 330, 560, 9, 12, 50
#: The axis: how many times worse than the limit, at most; and how many times better.
_WORST, _BEST = 1_000.0, 10.0


def chart(taken: Taken, columns: Sequence[str]) -> str:
    """Return the chart as SVG. A bar goes from the limit to the right by how many times worse a column is."""
    shown = [name for name in columns if name != LIMIT]
    compared = [line for line in lines(taken) if any(_worse(line, name) for name in shown)]
    body: list[str] = []
    top = float(_TOP)
    for line in compared:
        body += _group(line, shown, top)
        top += _height(line, shown)
    size = f'width="{_LEFT + _WIDTH + 60}" height="{top + 10:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    return "\n".join(
        [head, '<rect width="100%" height="100%" fill="white"/>', *_frame(shown, top), *body, "</svg>"]
    )


def _worse(line: Line, column: str) -> float | None:
    """How many times worse than the limit, whichever way the figure counts."""
    cell = line.cells.get(column)
    if cell is None or not cell.ratio or cell.ratio < 0:
        return None
    return 1 / cell.ratio if line.row.more else cell.ratio


def _height(line: Line, shown: Sequence[str]) -> float:
    return _BAR * sum(_worse(line, name) is not None for name in shown) + _GAP


def _group(line: Line, shown: Sequence[str], top: float) -> Iterator[str]:
    middle = top + (_height(line, shown) - _GAP) / 2 + 4
    words = escape(f"{line.measure}: {line.row.figure}")
    yield f'<text x="{_LEFT - 8}" y="{middle:.0f}" text-anchor="end">{words}</text>'
    if line.row.goal:
        goal = _x(1 / line.row.goal if line.row.more else line.row.goal)
        bottom = top + _height(line, shown) - _GAP
        yield f'<line x1="{goal:.1f}" x2="{goal:.1f}" y1="{top - 2:.0f}" y2="{bottom + 1:.0f}" stroke="#24292f"/>'
    for place, name in enumerate(shown):
        worse = _worse(line, name)
        if worse is not None:
            left, right = sorted((_x(1.0), _x(worse)))
            size = f'x="{left:.1f}" y="{top:.0f}" width="{max(right - left, 1.5):.1f}" height="{_BAR - 1}"'
            yield f'<rect {size} fill="{_COLOURS[place % len(_COLOURS)]}"/>'
            yield f'<text x="{right + 4:.1f}" y="{top + 8:.0f}" font-size="9">{worse:.3g}</text>'
            top += _BAR


def _frame(shown: Sequence[str], bottom: float) -> Iterator[str]:
    yield f'<text x="10" y="18" font-size="13">{_TITLE}</text>'
    for place, name in enumerate(shown):
        left = _LEFT + 90 * place
        yield f'<rect x="{left}" y="26" width="10" height="10" fill="{_COLOURS[place % len(_COLOURS)]}"/>'
        yield f'<text x="{left + 14}" y="35">{escape(name)}</text>'
    for times in (0.1, 1, 10, 100, 1_000):
        yield f'<line x1="{_x(times):.1f}" x2="{_x(times):.1f}" y1="{_TOP}" y2="{bottom:.0f}" stroke="#d0d7de"/>'
        yield f'<text x="{_x(times):.1f}" y="{_TOP - 3}" text-anchor="middle" fill="#57606a">{times:g}</text>'


def _x(worse: float) -> float:
    """Where a ratio stands on the axis."""
    inside = min(max(worse, 1 / _BEST), _WORST)
    return _LEFT + _WIDTH * math.log(inside * _BEST) / math.log(_WORST * _BEST)
