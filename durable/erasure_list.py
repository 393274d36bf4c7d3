"""The list of what was erased, kept outside of the database: a restore from a backup brings keys and data back, and
the records of their erasure are gone with it. It names runs and keyed hashes, and nobody.

A line is written, and on the disk, before the commit that erases: what is erased stands here in any case.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings

from durable.errors import Invalid
from durable.text import load_json


@dataclass(frozen=True, slots=True)
class Line:
    """One family of runs that was erased together: of which erasure, of whom (by keyed hash), and why."""

    erasure: int
    kinds: Sequence[str]
    hashes: Sequence[str]
    reason: str
    reference: str
    runs: Sequence[str]


def add(line: Line) -> None:
    """Write a line at the end of INTERLOCK_ERASURE_FILE and see it on the disk. Raises OSError where that fails.

    A line that a kill has torn is ended first. Without the setting nothing is kept here.
    """
    if not settings.INTERLOCK_ERASURE_FILE:
        return
    path = Path(settings.INTERLOCK_ERASURE_FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = file.seek(0, os.SEEK_END)
        torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
        file.write(b"\n" * torn + f"{written(line)}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def written(line: Line) -> str:
    """A line as the file has it."""
    return json.dumps(asdict(line), sort_keys=True)


def read(lines: Iterable[str]) -> tuple[list[Line], list[int]]:
    """The lines of a list, and the numbers of those that say nothing: a kill has torn them, or somebody has."""
    found, torn = list[Line](), list[int]()
    for no, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            read = load_json(text, f"line {no}")
            found.append(Line(**{name: read[name] for name in Line.__dataclass_fields__}))
        except (Invalid, TypeError, KeyError):
            torn.append(no)
    return found, torn
