"""Names of subjects, found by a part of them: what stands in the index is of no use without the installation's keys.

A name is cut into grams, three characters each; of each gram a keyed hash is stored, and the name itself sealed. Who
searches for a part computes the same hashes; the names that bear all of them are opened, and looked through. Whoever
reads the table alone learns how many names there are, of which kinds, and which of them have parts in common.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from django.conf import settings

from durable import vault
from durable.digest import keyed_hash, normal

#: Characters of one gram, and so of the shortest part that can be looked for.
GRAM = 3
#: Of a longer name only so much is found by its parts.
LONGEST = 500


def grams(text: str) -> list[int]:
    """The keyed hashes of all grams of a text, as 32-bit numbers, each once, in an order that says nothing."""
    plain = normal(text)[:LONGEST]
    key = _key(settings.INTERLOCK_HASH_KEY)
    return sorted({_gram(key, plain[at : at + GRAM]) for at in range(len(plain) - GRAM + 1)})


def box(hash: str, name: str) -> bytes:
    """A name sealed for the row with this hash."""
    return vault.box_for_index(name.encode(), hash)


def read(hash: str, boxed: bytes) -> str:
    """The name of the row with this hash. Raises vault.Tampered."""
    return vault.open_for_index(boxed, hash).decode()


def named(args: Mapping[str, Any], hashes: Mapping[str, str]) -> dict[str, str]:
    """The subjects that `hashes` (by kind) file, by kind, found among an effect's arguments.

    No tool is asked: it may be gone. What belongs to a hash is the argument that has it.
    """
    texts = {str(value) for value in args.values() if isinstance(value, (str, int)) and value != ""}
    found = {}
    for kind, hash in hashes.items():
        for text in texts:
            if _hash(kind, text) == hash:
                found[kind] = text
    return found


def _hash(kind: str, text: str) -> str:
    return keyed_hash(kind, text, settings.INTERLOCK_HASH_KEY) if text.strip() else ""


@cache
def _key(secret: bytes) -> bytes:
    return hmac.digest(secret, b"interlock grams", hashlib.sha256)


@lru_cache(maxsize=50_000)
def _gram(key: bytes, gram: str) -> int:
    return int.from_bytes(hmac.digest(key, gram.encode(), hashlib.sha256)[:4], "big", signed=True)
