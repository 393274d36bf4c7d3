"""The stand-in's durable book: JSON lines, only ever added to, on disk before an answer leaves.

One line is one JSON array of records, so that what belongs together (a refund, its movement and its key's
saved answer) is there as a whole or not at all. A record has a `kind` and an `id`; of several with the same
pair the last counts. State is rebuilt from the file at start. A torn last line, left by a kill, is cut off;
damage anywhere else stops the start, because a book with a hole can't witness anything.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

_TO_DISK = getattr(os, "fdatasync", os.fsync)  # macOS has fsync alone

Record = dict[str, Any]


class Damaged(Exception):
    """The book holds a line that can't be read and is not the last one."""


class Book:
    """The records by kind, in the order in which each was first written. Hold `lock` from a check to its
    write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._tables: dict[str, dict[str, Record]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b", buffering=0)
        self._load()

    def _load(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        good = 0
        for line in content.splitlines(keepends=True):
            records = _parse(line)
            if records is None:
                if good + len(line) < len(content):
                    raise Damaged(
                        f"{self.path}: unreadable line at byte {good}; move the file away to start anew"
                    )
                self._file.truncate(good)
                break
            self._apply(records)
            good += len(line)

    def _apply(self, records: list[Record]) -> None:
        for record in records:
            if record["kind"] == "reset":
                self._tables.clear()
            elif record.get("gone"):
                self._tables.get(record["kind"], {}).pop(record["id"], None)
            else:
                self._tables.setdefault(record["kind"], {})[record["id"]] = record

    def write(self, *records: Record) -> None:
        """Put `records` down as one line, on disk when this returns; a record with `gone` takes its id away."""
        line = json.dumps(records, separators=(",", ":")).encode() + b"\n"
        with self.lock:
            self._file.write(line)
            _TO_DISK(self._file.fileno())
            self._apply(list(records))

    def get(self, kind: str, key: str) -> Record | None:
        """The newest record of a kind and id; None where there is none."""
        with self.lock:
            return self._tables.get(kind, {}).get(key)

    def all(self, kind: str) -> list[Record]:
        """The newest records of a kind, in the order in which each was first written."""
        with self.lock:
            return list(self._tables.get(kind, {}).values())

    def count(self, kind: str) -> int:
        """How many records of a kind there are, each id counted once."""
        with self.lock:
            return len(self._tables.get(kind, {}))

    def reset(self) -> None:
        """Forget everything. The file keeps what was, and says that it was forgotten."""
        self.write({"kind": "reset", "id": "reset"})

    def close(self) -> None:
        """Close the file; nothing can be written after that."""
        with self.lock:
            self._file.close()


def _parse(line: bytes) -> list[Record] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        records = json.loads(line)
    except ValueError:
        return None
    return records if isinstance(records, list) else None


def movement(book: Book, service: str, record: Record) -> Record:
    """The record that says what really moved; `record` has id, key, amount, currency, target, at and
    metadata.
    """
    number = book.count("movement") + 1
    return {**record, "kind": "movement", "id": f"{number:09}", "service": service, "made": record["id"]}
