"""A payload as lines for the eye, from its canonical bytes: every key, every value, numbers digit for digit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from approvals import visible

MAX_INDENT = 8  # deeper levels keep this indent and say their depth in words
#: More characters than this no page shows of what nobody decides about on it: it says how many are left out.
AT_MOST = 50_000
#: Once so many characters of a payload mislead, further lines that do are written in codes (`visible.coded`).
MARKED = 2_000
#: More lines, or more characters, than this can hide something below the edge of a screen.
SHOWN_LINES, SHOWN_CHARACTERS = 60, 4_000


@dataclass(frozen=True, slots=True)
class Line:
    """One line: `depth` of nesting, `key` without quotes (None in lists), `text` as JSON, `kind` for its colour."""

    depth: int
    key: str | None
    text: str
    kind: str
    comma: str = ""

    @property
    def indent(self) -> int:
        """The depth that is drawn."""
        return min(self.depth, MAX_INDENT)


@dataclass(frozen=True, slots=True)
class Part:
    """The first lines of a payload, the last of them cut where it is too long, and how many characters are left out."""

    lines: list[Line]
    left_out: int


@dataclass(frozen=True, slots=True)
class Payload:
    """All lines of a payload, its size in bytes of UTF-8, and how many characters would hide or mislead."""

    lines: list[Line]
    size: int
    suspicious: int

    @property
    def head(self) -> list[Line]:
        """What a page shows before anything is opened: all lines of a short payload, the first ones of a long one."""
        shown: list[Line] = []
        characters = 0
        for line in self.lines:
            characters += len(line.text) + len(line.key or "")
            if len(shown) == SHOWN_LINES or characters > SHOWN_CHARACTERS:
                break
            shown.append(line)
        return shown

    @property
    def rest(self) -> list[Line]:
        """The lines that follow `head`; none of a short payload. No line is ever cut within."""
        return self.lines[len(self.head) :]

    @property
    def most(self) -> Part:
        """What a page shows of it that only looks, and is not asked to decide."""
        shown: list[Line] = []
        room, left_out = AT_MOST, 0
        for line in self.lines:
            size = len(line.text) + len(line.key or "")
            if size <= room:
                shown.append(line)
            else:
                if room > 0:
                    shown.append(
                        replace(line, key=(line.key or "")[:room] or None, text=f"{line.text[:room]}…")
                    )
                left_out += size - max(room, 0)
            room -= size
        return Part(shown, left_out)


class _Number(str):
    """A number exactly as the bytes spell it."""


def _number(text: str) -> _Number:
    return _Number(text)


def read(canonical: str | bytes) -> Payload:
    """The payload for display. Takes canonical JSON; what is no JSON comes back as one line of text."""
    text = canonical.decode("utf-8", "backslashreplace") if isinstance(canonical, bytes) else canonical
    try:
        value = json.loads(text, parse_int=_number, parse_float=_number, object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return Payload(
            [Line(0, None, text, "text")],
            len(text.encode("utf-8", "surrogatepass")),
            visible.suspicious(text),
        )
    lines, hidden = [], 0
    for line in _lines(value, 0, None, ""):
        found = visible.suspicious(line.text) + visible.suspicious(line.key or "")
        hidden += found
        lines.append(_in_codes(line) if found and hidden > MARKED + found else line)
    return Payload(lines, len(text.encode("utf-8", "surrogatepass")), hidden)


def _in_codes(line: Line) -> Line:
    return replace(line, key=line.key and visible.coded(line.key), text=visible.coded(line.text))


def _lines(value: object, depth: int, key: str | None, comma: str) -> Iterator[Line]:
    if isinstance(value, tuple) and value:
        yield Line(depth, key, "{", "brace")
        for at, (name, item) in enumerate(value, start=1):
            yield from _lines(item, depth + 1, name, "," if at < len(value) else "")
        yield Line(depth, None, "}", "brace", comma)
    elif isinstance(value, list) and value:
        yield Line(depth, key, "[", "brace")
        for at, item in enumerate(value, start=1):
            yield from _lines(item, depth + 1, None, "," if at < len(value) else "")
        yield Line(depth, None, "]", "brace", comma)
    else:
        yield Line(depth, key, _scalar(value), _kind(value), comma)


def _scalar(value: object) -> str:
    if isinstance(value, _Number):
        return str(value)
    if value == ():
        return "{}"
    return json.dumps(value, ensure_ascii=False)


def _kind(value: object) -> str:
    if isinstance(value, _Number):
        return "number"
    return "string" if isinstance(value, str) else "word"
