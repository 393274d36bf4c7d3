"""What the crowd was told, written down as it was told it: JSON lines in a file that no fault reaches."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any, TextIO


class Notes:
    """A file of notes that only grows; safe among threads. One line is one write, so a reader sees whole lines."""

    def __init__(self, path: Path) -> None:
        self._out: TextIO = path.open("a", buffering=1)
        self._lock = threading.Lock()

    def add(self, kind: str, **facts: Any) -> None:
        """Write one thing down: what kind of thing, and its facts."""
        with self._lock:
            self._out.write(json.dumps({"kind": kind, "at": time.time(), **facts}) + "\n")

    def close(self) -> None:
        """Write no more."""
        self._out.close()


def read(path: Path) -> list[dict[str, Any]]:
    """Return everything noted, in order. A last line that is not whole is left out."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
