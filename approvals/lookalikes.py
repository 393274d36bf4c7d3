"""Letters and signs that pass for Latin ones, and where that is a trick rather than ordinary writing.

The table is the part of Unicode's confusables (UTS 39) that fools a reader of payees, hosts and addresses:
Cyrillic, Greek, Armenian and Cherokee letters drawn like Latin ones, and dots, slashes and dashes that are none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_CYRILLIC = zip(
    "аеорсухіјѕһԁԛԝӏьгпвнкмтАВЕКМНОРСТУХІЈЅԌԚԜӀ", "aeopcyxijshdqwlbrnbhkmtABEKMHOPCTYXIJSGQWI", strict=True
)
_GREEK = zip("αινορτυχωγκηΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ", "aivoptuxwyknABEZHIKMNOPTYXcj", strict=True)
_OTHER = zip("օոսհցզլքԼՕՍᎪᎬᎻᏀᏃᏢᏔᏚᎳᏴ", "onuhgqlpLOSAEHGZPWSWB", strict=True)
#: Letter to the Latin letter it is drawn like.
LETTERS: dict[str, str] = {**dict(_CYRILLIC), **dict(_GREEK), **dict(_OTHER)}
#: Signs that pass for the dot, slash, colon, dash and at sign of an address.
SIGNS: dict[str, str] = {
    **dict.fromkeys("․。．｡", "."), **dict.fromkeys("∕⁄⧸／╱", "/"), **dict.fromkeys("∶꞉：˸։", ":"),
    **dict.fromkeys("‐‑‒–−﹘﹣－", "-"), **dict.fromkeys("＠﹫", "@"),
}  # fmt: skip
_TOKEN = re.compile(r"\S+")
_LABEL = re.compile(r"[^\W_]+")
_JOINTS = "".join(sign for sign, plain in SIGNS.items() if plain != "-")
_ADDRESS = re.compile(rf"[^\W_][.@:/{_JOINTS}]+[A-Za-z]{{2}}|xn--|://|@")


def _is_latin(char: str) -> bool:
    return char.isascii() or unicodedata.name(char, "").startswith(("LATIN", "FULLWIDTH LATIN"))


def _compat_letter(char: str) -> str | None:
    """The ASCII letter or digit behind a styled one (mathematical, fullwidth), or None."""
    if char.isascii() or unicodedata.category(char) not in {"Lu", "Ll", "Nd"}:
        return None
    plain = unicodedata.normalize("NFKC", char)
    return plain if plain.isascii() and len(plain) == 1 else None


def find(text: str) -> dict[int, str]:
    """Positions of the characters that pass for others, each with what it passes for. Empty for ordinary writing.

    A Russian, Greek or Armenian word is ordinary. A word that mixes such letters with Latin ones is not, nor is a
    label of an address that could be read as Latin throughout, nor a styled letter among Latin ones.
    """
    if text.isascii():
        return {}
    found: dict[int, str] = {}
    for token in _TOKEN.finditer(text):
        if not token.group().isascii():
            found.update(_in_token(token.group(), token.start()))
    return found


def _in_token(token: str, offset: int) -> Iterator[tuple[int, str]]:
    address = bool(_ADDRESS.search(token)) or any(sign in token for sign in SIGNS if SIGNS[sign] in ".@")
    for label in _LABEL.finditer(token):
        letters = [char for char in label.group() if char.isalpha()]
        latin = any(char.isascii() for char in letters)
        passes_whole = (
            address and bool(letters) and all(char in LETTERS or _is_latin(char) for char in letters)
        )
        for place, char in enumerate(label.group(), start=offset + label.start()):
            if char in LETTERS and (latin or passes_whole):
                yield place, LETTERS[char]
            elif (latin or address) and (plain := _compat_letter(char)):
                yield place, plain
    if address:
        yield from ((offset + place, SIGNS[char]) for place, char in enumerate(token) if char in SIGNS)


# No label of a host name is longer than 63, and decoding takes the square of its length.
_PUNYCODE = re.compile(r"\bxn--([a-z0-9-]{1,59})(?![a-z0-9-])", re.IGNORECASE)


def punycode(text: str) -> Iterator[tuple[int, str]]:
    """End position and decoded form of every punycode label (`xn--…`) in the text; undecodable ones are skipped."""
    for label in _PUNYCODE.finditer(text):
        try:
            yield label.end(), label.group(1).encode("ascii").decode("punycode")
        except UnicodeError:
            continue
