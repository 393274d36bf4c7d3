"""Text written by agents, customers and vendors, made to show what it is.

What a reader can't see, or would misread, becomes a marker with its code point: controls, zero-width and
bidirectional characters, tags, variation selectors, blank letters, odd spaces, padding, look-alike letters.
Ordinary writing stays as it is: accents, Arabic and Hebrew with their joiners, emoji sequences. Only the picture
changes; the stored characters, and so every digest, stay the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from approvals import lookalikes

#: Letters and signs that Unicode calls visible and fonts draw as nothing.
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5\u034f\U0001d159")
#: Variation selectors; the two that choose between text and emoji are judged by their neighbours.
_SELECTORS = frozenset(map(chr, (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0), *range(0x180B, 0x1810))))
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
#: Arabic letters that never join to the next one: a non-joiner after them draws nothing.
_RIGHT_JOINING = frozenset("اأإآٱدذرزژوؤة")
_FLAG_TAGS = ("gbeng", "gbsct", "gbwls")  # the subdivision flags that Unicode recommends
_FLAGS = tuple("".join(chr(0xE0000 + ord(c)) for c in tag) + "\U000e007f" for tag in _FLAG_TAGS)
_PLAIN = re.compile(r"[!-~]+(?: [!-~]+)*")
_PASSES = "looks like"
PADDING = 8  # more spaces in a row than this count as padding
MARKS = 4  # more combining marks on one letter than this bury it


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text: `code` is empty for text to show as it is, else the code point that stands for it.

    `count` tells how often it is repeated; `note` says what it is, or what it passes for.
    """

    text: str
    code: str = ""
    note: str = ""
    count: int = 1

    @property
    def seen(self) -> bool:
        """Whether the characters draw something themselves, so that they are shown beside their code point."""
        return self.note.startswith(_PASSES)


def pieces(text: str, *, lines: bool = False) -> list[Piece]:
    """The text in stretches, marked where it would mislead. With `lines`, line breaks and tabs are ordinary."""
    if _PLAIN.fullmatch(text):
        return [Piece(text)] if "xn--" not in text.lower() else _with_punycode(text, [])
    marks = _marks(text, lines)
    return _with_punycode(text, marks)


def suspicious(text: str) -> int:
    """How many characters of the text a reader would not see or would misread."""
    return sum(piece.count for piece in pieces(text, lines=True) if piece.code)


def _with_punycode(text: str, marks: list[tuple[int, int, str, str]]) -> list[Piece]:
    for end, decoded in lookalikes.punycode(text):
        marks.append((end, end, "punycode", "reads " + _spelled(decoded)))
    result: list[Piece] = []
    place = 0
    for start, end, code, note in sorted(marks):
        if start > place:
            result.append(Piece(text[place:start]))
        result.append(Piece(text[start:end], code, note, max(end - start, 1)))
        place = end
    if place < len(text):
        result.append(Piece(text[place:]))
    return result


def _spelled(word: str) -> str:
    """The word with every look-alike followed by its code point, so that the decoded form can't mislead either."""
    return "".join(
        f"{c}({_code(c)})" if c in lookalikes.LETTERS or _hidden(word, i) else c for i, c in enumerate(word)
    )


def _marks(text: str, lines: bool) -> list[tuple[int, int, str, str]]:
    """Start, end, code point and note of everything to be marked; equal neighbours become one."""
    passing = lookalikes.find(text)
    flagged = [
        (place, _code(char), f"{_PASSES} {passing[place]}" if place in passing else _name(char))
        for place, char in _candidates(text)
        if place in passing or (_hidden(text, place) and not (lines and char in "\n\t"))
    ]
    runs = [list(run) for _, run in groupby(enumerate(flagged), key=lambda at: (at[1][0] - at[0], at[1][1:]))]
    marks = [(run[0][1][0], run[-1][1][0] + 1, run[0][1][1], run[0][1][2]) for run in runs]
    marks += [(m.start(), m.end(), "U+0020", "spaces") for m in re.finditer(rf" {{{PADDING + 1},}}", text)]
    if lines:
        marks += [(m.start() + 2, m.end(), "U+000A", "line breaks") for m in re.finditer(r"\n{4,}", text)]
    return marks


def _candidates(text: str) -> Iterator[tuple[int, str]]:
    return ((place, char) for place, char in enumerate(text) if not " " <= char <= "~")


def _hidden(text: str, place: int) -> bool:
    """Whether the character at this place draws nothing, draws a mere gap, or changes its neighbours' order."""
    char = text[place]
    category = unicodedata.category(char)
    if char == "\ufe0f" or char == "\ufe0e":
        return not _after_emoji(text, place)
    if char == "\u200d":
        return not (_joins_emoji(text, place) or _after_virama(text, place))
    if char == "\u200c":
        return not (_between_arabic(text, place) or _after_virama(text, place))
    if "\U000e0020" <= char <= "\U000e007f":
        return not _in_flag(text, place)
    if category in {"Mn", "Me"}:
        return char in _BLANK_LETTERS or char in _SELECTORS or _buries(text, place)
    return category in _UNSEEN or char in _BLANK_LETTERS or (category == "Zs" and char != " ")


def _is_pictograph(char: str) -> bool:
    return (
        unicodedata.category(char) == "So"
        or char in "‼⁉↔↕↖↗↘↙↩↪⤴⤵〰〽"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    )


def _after_emoji(text: str, place: int) -> bool:
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    return bool(before) and (_is_pictograph(before) or (before in "0123456789#*" and after == "\u20e3"))


def _joins_emoji(text: str, place: int) -> bool:
    before = text[max(0, place - 2) : place].removesuffix("\ufe0f")[-1:]
    after = text[place + 1 : place + 2]
    return bool(before and after) and _is_pictograph(before) and _is_pictograph(after)


def _after_virama(text: str, place: int) -> bool:
    return (
        place > 0 and unicodedata.combining(text[place - 1]) == 9
    )  # Indic scripts: asks for or against a ligature


def _between_arabic(text: str, place: int) -> bool:
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    arabic = all(unicodedata.name(char, "").startswith("ARABIC LETTER") for char in (before, after) if char)
    return bool(before and after) and arabic and before not in _RIGHT_JOINING


def _in_flag(text: str, place: int) -> bool:
    start = text.rfind("\U0001f3f4", max(0, place - 6), place)
    return start >= 0 and text.startswith(_FLAGS, start + 1)


def _buries(text: str, place: int) -> bool:
    stack = text[max(0, place - MARKS) : place + 1]
    return len(stack) > MARKS and all(unicodedata.category(char) in {"Mn", "Me"} for char in stack)


def _code(char: str) -> str:
    return f"U+{ord(char):04X}"


_CONTROLS = {
    "\n": "line break",
    "\r": "carriage return",
    "\t": "tab",
    "\0": "null",
    "\x1b": "escape",
    "\x7f": "delete",
}


def _name(char: str) -> str:
    return _CONTROLS.get(char) or unicodedata.name(char, "control or unassigned character").lower()
