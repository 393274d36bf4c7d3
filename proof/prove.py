"""The whole proof: its parts one after another, one table of what was tried and found, 1 on any violation."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from local import bytecode
from local.process import spawn, stop
from proof import parts
from proof.parts import Extent
from proof.report import Row, Say, Tally

ROOT = Path(__file__).resolve().parent.parent


def prove(names: Sequence[str], extent: Extent, say: Say) -> int:
    """Run the named parts, print their table, and return the exit code: 0 only if all were tried and found sound."""
    tally = Tally()
    with bytecode.shared():
        for name in names:
            say(f"-- {name}: {parts.PARTS[name].shows}")
            tally.add(one(name, extent))
    say("")
    for line in tally.table():
        say(line)
    return 0 if tally.sound() else 1


def one(name: str, extent: Extent) -> list[Row]:
    """Run one part in a process of its own. A part that does not come to its end is a violation like any other."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="interlock-prove-") as folder:
        rows = Path(folder) / "rows"
        child = spawn(parts.words(name, extent, rows), cwd=ROOT)
        try:
            code = child.wait()
        finally:
            if child.poll() is None:
                stop(child)
        found = parts.read(rows)
    if code or not found:
        ended = f"it ended with exit code {code} and {len(found)} rows"
        found.append(Row(name, 1, (ended,), time.monotonic() - began))
    return found
