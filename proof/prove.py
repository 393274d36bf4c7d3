"""The whole proof: its parts, some side by side, one table of what was tried and found, 1 on any violation."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from local import bytecode, throwaway
from local.process import spawn, stop
from proof import parts
from proof.parts import PARTS, Extent
from proof.report import Row, Say, Tally

ROOT = Path(__file__).resolve().parent.parent
_TICK = 0.1


def prove(names: Sequence[str], extent: Extent, say: Say) -> int:
    """Run the named parts, print their table, and return the exit code: 0 only if all were tried and found sound."""
    found: dict[str, list[Row]] = {}
    with bytecode.shared(), throwaway.copying():
        for lanes in in_turn(names):
            found |= _side_by_side(lanes, extent, say)
    tally = Tally()
    for name in names:
        tally.add(found[name])
    say("")
    for line in tally.table():
        say(line)
    return 0 if tally.sound() else 1


def in_turn(names: Sequence[str]) -> Iterator[list[list[str]]]:
    """Yield the lanes that go side by side: first the parts that may, then each that goes alone. In a lane one part
    follows the other.
    """
    together = [name for name in names if not PARTS[name].alone]
    lanes = [[name for name in together if PARTS[name].waits is waits] for waits in (False, True)]
    if together:
        yield [lane for lane in lanes if lane]
    yield from ([[name]] for name in names if PARTS[name].alone)


def _side_by_side(lanes: Sequence[Sequence[str]], extent: Extent, say: Say) -> dict[str, list[Row]]:
    # From one thread: a part dies with the thread that has started it.
    left, going = [list(lane) for lane in lanes], dict[int, _Going]()
    found: dict[str, list[Row]] = {}
    try:
        while going or any(left):
            for lane, names in enumerate(left):
                if lane in going and going[lane].child.poll() is not None:
                    over = going.pop(lane)
                    found[over.name] = over.rows()
                if names and lane not in going:
                    name = names.pop(0)
                    say(f"-- {name}: {PARTS[name].shows}")
                    going[lane] = _begun(name, extent)
            time.sleep(_TICK)
    finally:
        for one in going.values():
            stop(one.child)
            one.folder.cleanup()
    return found


def one(name: str, extent: Extent) -> list[Row]:
    """Run one part in a process of its own. A part that does not come to its end is a violation like any other."""
    going = _begun(name, extent)
    try:
        going.child.wait()
    finally:
        if going.child.poll() is None:
            stop(going.child)
    return going.rows()


@dataclass
class _Going:
    """A part's process, and the folder in which it leaves its rows."""

    name: str
    child: Popen[bytes]
    folder: tempfile.TemporaryDirectory[str]
    began: float

    def rows(self) -> list[Row]:
        """What it has found, once it is over."""
        with self.folder as folder:
            found = parts.read(Path(folder) / "rows")
        if self.child.returncode or not found:
            ended = f"it ended with exit code {self.child.returncode} and {len(found)} rows"
            found.append(Row(self.name, 1, (ended,), time.monotonic() - self.began))
        return found


def _begun(name: str, extent: Extent) -> _Going:
    folder = tempfile.TemporaryDirectory(prefix="interlock-prove-")
    child = spawn(parts.words(name, extent, Path(folder.name) / "rows"), cwd=ROOT)
    return _Going(name, child, folder, time.monotonic())
