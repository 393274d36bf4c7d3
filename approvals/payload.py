"""A payload as lines for the eye, from its canonical bytes: every key, every value, numbers digit for digit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from approvals import visible

MAX_INDENT = 8  # deeper levels keep this indent and say their depth in words
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
    lines = list(_lines(value, 0, None, ""))
    hidden = sum(visible.suspicious(line.text) + visible.suspicious(line.key or "") for line in lines)
    return Payload(lines, len(text.encode("utf-8", "surrogatepass")), hidden)


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
