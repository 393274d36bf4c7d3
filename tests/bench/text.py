"""A conversation to be stored: English out of Python's own manual, and a tool's answers as JSON. Always the same."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import cache
from pydoc_data.topics import topics


@cache
def manual() -> str:
    """Python's manual as one line of words."""
    return " ".join(" ".join(topics[name].split()) for name in sorted(topics))


def words(chance: random.Random, length: int) -> str:
    """Return so many characters of prose."""
    found = ""
    while len(found) < length:
        begin = chance.randrange(len(manual()) - 500)
        found += manual()[begin : begin + chance.randrange(100, 500)] + ". "
    return found[:length]


def answer(chance: random.Random, length: int) -> str:
    """Return a tool's answer as JSON of about so many characters: rows with ids and amounts, then prose."""
    rows = [
        {
            "id": f"{chance.randrange(16**12):012x}",
            "paid": f"{chance.uniform(1, 900):.2f}",
            "note": words(chance, 60),
        }
        for _ in range(8)
    ]
    short = json.dumps({"rows": rows, "text": ""})
    return json.dumps({"rows": rows, "text": words(chance, max(0, length - len(short)))})


@cache
def conversation(turns: int) -> tuple[tuple[str, str], ...]:
    """Return what a model says and what a tool answers, turn by turn: 1.2 and 2.5 kB on average."""
    chance = random.Random(4)
    return tuple(
        (words(chance, chance.randrange(1_000, 1_400)), answer(chance, chance.randrange(2_300, 2_700)))
        for _ in range(turns)
    )


def raw(told: Sequence[tuple[str, str]]) -> int:
    """Return the bytes that the conversation itself has."""
    return sum(len(said.encode()) + len(answered.encode()) for said, answered in told)
