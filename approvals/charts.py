"""Charts as numbers: where each bar stands, in hundredths of the picture. The server draws them; no script is asked.

All places are percentages, so that a picture is as wide as its card while its letters, which stand beside it, keep
their size. Each chart begins at zero, says in one sentence what it shows, and has its numbers in a table behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

#: Share of a column that stays empty beside its bar.
_GAP = 0.22
#: No bar is wider than this share of the picture, however few there are.
_WIDEST = 6.0
_NICE = (1, 2, 4, 5, 8, 10)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a column: how tall, in the chart's unit, and in which look (a class of home.css)."""

    value: float
    look: str


@dataclass(frozen=True, slots=True)
class Column:
    """What happened in one bucket: its parts from the ground up, and the same in words. `row` stands in the table."""

    words: str
    pieces: tuple[Piece, ...]
    row: tuple[str, ...]
    href: str = ""  # the list behind it


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle; places and sizes as SVG wants them. `words` is what stands over it on a mouse."""

    x: str
    y: str
    width: str
    height: str
    look: str
    words: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture and the table behind it."""

    name: str
    title: str
    bars: tuple[Bar, ...]
    scale: tuple[str, str, str]  # words at the top, in the middle, at the ground
    foot: tuple[str, str, str]  # words at the left end, in the middle, at the right end
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = field(default=())
    hrefs: tuple[str, ...] = ()  # of the rows

    @property
    def linked(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The rows, each behind the address that it leads to."""
        return tuple(zip(self.hrefs or ("",) * len(self.rows), self.rows, strict=True))


def top(most: float) -> float:
    """The end of a scale: the next round number, whose half is one as well."""
    if most <= 0:
        return 1
    power: float = 10 ** math.floor(math.log10(most))
    return next(step * power for step in _NICE if step * power >= most * (1 - 1e-9))


def even(most: float) -> float:
    """The same for whole things: its half is whole too."""
    if most <= 2:
        return 2
    power: float = 10 ** math.floor(math.log10(most))
    return next(step * power for step in _NICE if step * power >= most and step * power % 2 == 0)


def draw(
    name: str,
    title: str,
    columns: Sequence[Column],
    *,
    head: tuple[str, ...],
    foot: tuple[str, str, str],
    scale: Callable[[float], str],
    ceiling: Callable[[float], float] = top,
) -> Chart:
    """Draw columns beside each other, the parts of each upon each other."""
    most = max((sum(piece.value for piece in column.pieces) for column in columns), default=0)
    high = ceiling(most)
    bars: list[Bar] = []
    wide = 100 / max(len(columns), 1)
    bar = min(wide * (1 - _GAP), _WIDEST)
    for place, column in enumerate(columns):
        ground = 0.0
        if column.href:  # all of the column can be hit, however low its bar
            bars.append(
                Bar(_share(place * wide), "0%", _share(wide), "100%", "hit", column.words, column.href)
            )
        for piece in column.pieces:
            if piece.value > 0:
                bars.append(
                    Bar(
                        _share(place * wide + (wide - bar) / 2),
                        _share(100 - (ground + piece.value) / high * 100),
                        _share(bar),
                        _share(piece.value / high * 100),
                        piece.look,
                        column.words,
                        column.href,
                    )
                )
                ground += piece.value
    marks = (scale(high), scale(high / 2), scale(0)) if most > 0 else ("", "", scale(0))
    if len(columns) == 1:
        foot = ("", foot[0], "")
    hrefs = tuple(column.href for column in columns) if any(column.href for column in columns) else ()
    return Chart(name, title, tuple(bars), marks, foot, head, tuple(column.row for column in columns), hrefs)


def _share(number: float) -> str:
    return f"{number:.2f}%"
