"""What text and JSON may enter: all that comes from outside passes here before it is stored or hashed."""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring
from typing import Any

from wcwidth import iter_graphemes

from durable.errors import Invalid

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 64
MAX_INT = 2**53
"""Above this, a reader that keeps numbers as doubles (JavaScript, RFC 8785) cannot tell neighbours apart."""

_SURROGATE_OR_NUL = re.compile("[\ud800-\udfff\x00]")
_BRACKET_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_SHOWN = 40

#: Words from outside are cut to this where they stand in a sentence of ours, if nothing else is said.
QUOTED = 40
#: An id, a number or an address: one word, and never one of a language alone.
_REFERENCE = re.compile(rf"(?=\S*[0-9@])[\w@#.+/:~-]{{1,{QUOTED}}}", re.ASCII)
#: A quotation mark within would seem to end what is quoted.
_INNER = dict.fromkeys(map(ord, "“”„‟«»"), "'")


def check_text(value: str, field: str) -> str:
    """Return `value` unchanged. Refuses what PostgreSQL or UTF-8 cannot hold: NUL and lone surrogates."""
    bad = _SURROGATE_OR_NUL.search(value)
    if bad is None:
        return value
    what = "a NUL character" if bad.group() == "\x00" else "half of a surrogate pair"
    raise Invalid(field, f"must not hold {what} (at character {bad.start()}); take it out")


def mend(value: str) -> str:
    """`value` with NUL and lone surrogates replaced by U+FFFD: for output that must be kept, not refused."""
    return _SURROGATE_OR_NUL.sub("\ufffd", value)


def cut(value: str, limit: int) -> str:
    """At most `limit` characters of `value`, an ellipsis at the end where something is missing.

    Cuts between what a reader sees as characters: an emoji, a flag or an accented letter stays whole or goes.
    """
    if len(value) <= limit:
        return value
    kept = ""
    for grapheme in iter_graphemes(value):
        if len(kept) + len(grapheme) > limit - 1:
            break
        kept += grapheme
    return (kept + "…")[:limit]


def quoted(words: str, most: int = QUOTED) -> str:
    """What an agent, a tool, a vendor or a person has written, for a sentence of ours: a reference as it stands, and
    whatever else could pass for our own words between quotation marks, mended and cut to `most` characters.
    """
    if _REFERENCE.fullmatch(words):
        return words
    return f"“{cut(mend(words[: most * 8]), most).translate(_INNER)}”"


def check_json(value: object, field: str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> None:
    """Refuse whatever is not plain JSON within the limits.

    `max_bytes` counts the compact UTF-8 text, `max_depth` the lists and objects inside each other. Walks
    without recursion and stops at the first fault: depth, a cycle or one value used over and over do no harm.
    """
    if _room_left(value, max_depth, max_bytes - 1) >= 0:
        return
    path: list[object] = []
    levels: list[Iterator[tuple[object, object]]] = [iter(((None, value),))]
    size = 0
    while levels:
        where = path
        try:
            entry = next(levels[-1], None)
            if entry is None:
                levels.pop()
                path = path[:-1]
                continue
            key, item = entry
            where = [*path, key]
            children = _children(item)
            size += _key_size(key) + (_scalar_size(item) if children is None else 2)
        except Invalid as error:
            raise Invalid(join(field, *where), error.rule) from None
        if size > max_bytes:
            raise _too_big(field, max_bytes)
        if children is not None:
            if len(levels) > max_depth:
                raise Invalid(field, f"must be nested at most {max_depth} deep; flatten it")
            levels.append(children)
            path = where


def _room_left(value: Any, levels: int, room: int) -> int:
    """How many of `room` bytes are left beside `value` at its largest; negative where that is in doubt, or a fault is.

    The quick way for what is in order, which nearly everything is: whoever is told of a doubt looks closely.
    """
    kind = type(value)
    if kind is str:
        return room - _most_bytes(value)
    if kind is int:
        return room - 17 if -MAX_INT <= value <= MAX_INT else -1
    if value is None or kind is bool:
        return room - 5
    if kind is float:
        return room - 24 if math.isfinite(value) else -1
    if levels == 0:
        return -1
    if kind is dict:
        room -= 2
        for key, item in value.items():
            if type(key) is not str:
                return -1
            room = _room_left(item, levels - 1, room - 2 - _most_bytes(key))
            if room < 0:
                return -1
        return room
    if kind is list or kind is tuple:
        room -= 2
        for item in value:
            room = _room_left(item, levels - 1, room - 1)
            if room < 0:
                return -1
        return room
    return -1


def _most_bytes(text: str) -> int:
    """The most bytes that a text may take in JSON; more than there are where it may hold what can't be stored."""
    if "\x00" in text or (not text.isascii() and _SURROGATE_OR_NUL.search(text)):
        return sys.maxsize
    return 6 * len(text) + 2


def load_json(raw: bytes | str, field: str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    """The value of a JSON text. Refuses what `check_json` refuses, and duplicate keys, NaN and bad UTF-8 too.

    A number with a fraction becomes a float: amounts must be sent as strings.
    """
    if len(raw) > max_bytes:
        raise _too_big(field, max_bytes)
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(field, f"must be UTF-8 (it is not at byte {error.start})") from None
    if _text_depth(text) > max_depth:
        raise Invalid(field, f"must be nested at most {max_depth} deep; flatten it")

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(found)
        if len(built) != len(found):
            double, _ = Counter(name for name, _ in found).most_common(1)[0]
            raise Invalid(join(field, double), "must be given once, not twice in one object")
        return built

    def constant(name: str) -> float:
        raise Invalid(field, f"must not hold {name}: JSON knows finite numbers only")

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Invalid(field, f"must be JSON: {error.msg} at {place}") from None
    except ValueError:
        # Python refuses to read integers of more than some thousand digits, with a plain ValueError.
        raise _too_large(field) from None
    check_json(value, field, max_bytes=max_bytes, max_depth=max_depth)
    return value


def _text_depth(text: str) -> int:
    """How deep a JSON text nests, read without parsing it: the parser itself recurses."""
    depth = deepest = 0
    for found in _BRACKET_OR_STRING.finditer(text):
        if found.group() in ("[", "{"):
            depth += 1
            deepest = max(deepest, depth)
        elif found.group() in ("]", "}"):
            depth -= 1
    return deepest


def _children(item: object) -> Iterator[tuple[object, object]] | None:
    if isinstance(item, Mapping):
        return _members(item)
    if isinstance(item, (list, tuple)):
        return iter(enumerate(item))
    return None


def _members(item: Mapping[Any, object]) -> Iterator[tuple[object, object]]:
    for key, value in item.items():
        if not isinstance(key, str):
            raise Invalid("", f"must have text as its keys, not {type(key).__name__}")
        yield key, value


def _key_size(key: object) -> int:
    """Bytes of a key with its colon and the comma before it; a place in a list costs the comma alone."""
    return len(encode_basestring(check_text(key, "")).encode()) + 2 if isinstance(key, str) else 1


def _scalar_size(item: object) -> int:
    if isinstance(item, str):
        return len(encode_basestring(check_text(item, "")).encode())
    if item is None or isinstance(item, bool):
        return 5
    if isinstance(item, int):
        if abs(item) > MAX_INT:
            raise _too_large("")
        return len(str(int(item)))
    if isinstance(item, float):
        if not math.isfinite(item):
            raise Invalid("", "must be a finite number, not NaN or infinity")
        return len(repr(item))
    kind = type(item).__name__
    raise Invalid("", f"must be plain JSON (text, number, true, false, null, list, object), not {kind}")


def _too_big(field: str, max_bytes: int) -> Invalid:
    return Invalid(field, f"must be at most {max_bytes:,} bytes of JSON; send less, or a reference to it")


def _too_large(field: str) -> Invalid:
    return Invalid(field, f"must not hold an integer beyond 2^53 ({MAX_INT}); send it as a string")


def join(field: str, *path: object) -> str:
    """`input`, "lines", 3, "sku" -> `input.lines[3].sku`; long or odd keys are cut and mended for showing."""
    shown = field
    for part in path:
        if isinstance(part, int):
            shown += f"[{part}]"
        elif part is not None:
            shown += "." + cut(mend(str(part)), _SHOWN)
    return shown
