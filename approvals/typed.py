"""Queries as people type them, `agent:RefundDesk status:stuck`: which keys and words a text has, and what is wrong.

Text in, text out: what keys there are and what they mean is for each list to say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from durable.text import quoted as told

# Within quotes, a quote is written twice.
_WORD = re.compile(r'(?:([A-Za-z][A-Za-z-]*):)?(?:"([^"]*(?:""[^"]*)*)"?|(\S*))')
#: An id, or an effect's key, which has a colon of its own.
_ID = "run-"


class Word(NamedTuple):
    """One word: the key before its colon, in lower case, or none; its value; and the whole as it was typed."""

    key: str
    value: str
    whole: str


@dataclass(slots=True)
class Typed:
    """What stands in a query: values by key, words without one, and sentences about what can't be understood."""

    values: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def split(text: str) -> Iterator[Word]:
    """The words of a query, in order."""
    for found in _WORD.finditer(text):
        value = found[3] if found[2] is None else found[2].replace('""', '"')
        yield Word((found[1] or "").lower(), value, found[0])


def read(text: str, keys: Collection[str], what: str, several: Mapping[str, str]) -> Typed:
    """Take a query apart. Never raises. `what` is found by it ("Runs"); `several` are the keys that may name several
    values by commas, each with an example."""
    found = Typed()
    for key, value, whole in split(text):
        if whole.lower().startswith(_ID):
            found.words.append(whole)
        elif not key:
            found.words += [value] if value.strip() else []
        elif key not in keys:
            found.problems.append(
                f"{what} are not found by {key}:. Use {listed(keys)}. Put text that has a colon in quotes."
            )
        elif not value.strip():
            found.problems.append(f"{key}: needs a value after the colon, without a space between.")
        elif key in found.values:
            again = f" For any of several, write {key}:{several[key]}." if key in several else ""
            found.problems.append(f"{key}: stands twice; keep one.{again}")
        else:
            found.values[key] = value.strip()
    return found


def chosen(key: str, value: str, known: Collection[str]) -> tuple[tuple[str, ...], list[str]]:
    """The known words of a value with commas, each once; and what is wrong with it, in a sentence at most."""
    words = list(dict.fromkeys(filter(None, map(slug, value.split(",")))))
    unknown = next((word for word in words if word not in known), "" if words or not value else value)
    problem = [f"{key}: there is no {told(unknown)}; it is one of {listed(known)}."] if unknown else []
    return tuple(word for word in words if word in known), problem


def written(parts: Iterable[tuple[str, str]]) -> str:
    """Parts of a query, key and value, as text that is read as the same parts; a text's key is empty."""
    return " ".join(f"{key}:{quoted(value)}" if key else _free(value) for key, value in parts)


def _free(text: str) -> str:
    """Text without a key as it can be typed again: bare where that is read as the same text, else in quotes."""
    words = [word for word in split(text) if word.whole]
    if any(word.whole.lower().startswith(_ID) for word in words):
        same = words[0].whole == text
    else:
        same = not any(word.key for word in words) and " ".join(word.value for word in words) == text
    return text if same else _in_quotes(text)


def slug(word: str) -> str:
    """A word of several as a query has it: `partly compensated` is `partly-compensated`."""
    return re.sub(r"[\s_]+", "-", word.strip().lower())


def quoted(value: str) -> str:
    """A value as it can be typed again behind the colon of its key."""
    return _in_quotes(value) if value.startswith('"') or re.search(r"\s", value) else value


def _in_quotes(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def listed(words: Collection[str]) -> str:
    """Words as a sentence lists them: `one, two or three`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
