"""The words of a typed query, as lists take them: `agent:RefundDesk status:stuck "two words"`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_WORD = re.compile(r'(?:([A-Za-z][A-Za-z-]*):)?(?:"([^"]*)"?|(\S*))')


class Word(NamedTuple):
    """One word: the key before its colon, in lower case, or none; its value; and the whole as it was typed."""

    key: str
    value: str
    whole: str


def split(text: str) -> Iterator[Word]:
    """The words of a query, in order."""
    for found in _WORD.finditer(text):
        yield Word((found[1] or "").lower(), found[2] if found[2] is not None else found[3], found[0])


def slug(word: str) -> str:
    """A word of several as a query has it: `partly compensated` is `partly-compensated`."""
    return re.sub(r"[\s_]+", "-", word.strip().lower())


def quoted(value: str) -> str:
    """A value as it can be typed again."""
    return f'"{value}"' if re.search(r"\s", value) else value


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them: `one, two or three`."""
    return f"{', '.join(words[:-1])} or {words[-1]}"
