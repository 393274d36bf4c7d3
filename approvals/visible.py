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
from itertools import groupby, islice

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
_IN_CODES = "so much here can't be seen or passes for another that what follows is written in codes"
PADDING = 8  # more spaces in a row than this count as padding
MOST = 500  # more marks in one text than this are not drawn one by one
_PADDED = re.compile(rf" {{{PADDING + 1},}}")
_EMPTY_LINES = re.compile(r"\n{4,}")
#: Start, end, code point and note of what is to be marked.
Mark = tuple[int, int, str, str]
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
    """The text in stretches, marked where it would mislead. With `lines`, line breaks and tabs are ordinary.

    After MOST marks the rest of it is written in codes (`coded`): a page stays small whatever stands in a text.
    """
    if _is_plain(text):
        return [Piece(text)]
    marks = _marks(text, lines)
    if len(marks) > MOST:
        place = marks[MOST][0]
        head = _split(text[:place], marks[:MOST])
        return [*head, Piece("", "codes", _IN_CODES), Piece(coded(text[place:]))]
    return _split(text, marks)


def suspicious(text: str) -> int:
    """How many characters of the text a reader would not see or would misread."""
    if _is_plain(text):
        return 0
    count = sum(1 for _ in _flagged(text, lines=True)) + sum(1 for _ in lookalikes.punycode(text))
    return count + sum(end - start for start, end, *_ in _gaps(text, lines=True))


def _is_plain(text: str) -> bool:
    return bool(_PLAIN.fullmatch(text)) and "xn--" not in text.lower()


def coded(text: str) -> str:
    """The text with everything that is not plain ASCII as its code: `\\u0430`. Nothing in it is hidden or misread."""
    plain = text.encode("unicode_escape", "surrogatepass").decode("ascii")
    return _PADDED.sub(lambda spaces: f"[U+0020 {len(spaces[0])} times]", plain)


def _split(text: str, marks: list[Mark]) -> list[Piece]:
    result: list[Piece] = []
    place = 0
    for start, end, code, note in marks:
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


def _marks(text: str, lines: bool) -> list[Mark]:
    """What is to be marked, in its order, equal neighbours as one: all of it, or some more than MOST."""
    runs = groupby(enumerate(_flagged(text, lines)), key=lambda at: (at[1][0] - at[0], at[1][1:]))
    marks: list[Mark] = []
    for (_, (char, passes)), run in runs:
        places = [place for _, (place, *_) in run]
        marks.append(
            (places[0], places[-1] + 1, _code(char), f"{_PASSES} {passes}" if passes else _name(char))
        )
        if len(marks) > MOST:
            break
    labels = ((end, end, "punycode", f"reads {_spelled(name)}") for end, name in lookalikes.punycode(text))
    return sorted([*marks, *islice(_gaps(text, lines), MOST + 1), *islice(labels, MOST + 1)])


def _flagged(text: str, lines: bool) -> Iterator[tuple[int, str, str]]:
    """Each character that misleads: its place, itself, and what it passes for, empty for one that is not seen."""
    passing = lookalikes.find(text)
    for place, char in _candidates(text):
        if place in passing or (_hidden(text, place) and not (lines and char in "\n\t")):
            yield place, char, passing.get(place, "")


def _gaps(text: str, lines: bool) -> Iterator[Mark]:
    """Padding: so many spaces or line breaks that what follows is pushed out of sight."""
    yield from ((m.start(), m.end(), "U+0020", "spaces") for m in _PADDED.finditer(text))
    if lines:
        yield from ((m.start() + 2, m.end(), "U+000A", "line breaks") for m in _EMPTY_LINES.finditer(text))


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
