"""What the children print, line by line behind their names, read by one thread."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys

#: A line longer than this is cut into several.
_LONGEST = 16_384


class Pipes:
    """The children's outputs. `pump` prints what is there and returns when `seconds` are over."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._rest: dict[int, bytes] = {}

    def add(self, name: str, child: subprocess.Popen[bytes]) -> None:
        """Listen to a child that was started with `output=PIPE`."""
        assert child.stdout is not None
        os.set_blocking(child.stdout.fileno(), False)
        self._selector.register(child.stdout, selectors.EVENT_READ, name)

    def pump(self, seconds: float) -> None:
        """One wait and one reading of everything that is there."""
        if not self._selector.get_map():
            return
        for key, _ in self._selector.select(seconds):
            try:
                piece = os.read(key.fd, 65_536)
            except BlockingIOError:
                continue
            lines = (self._rest.pop(key.fd, b"") + piece).split(b"\n")
            if piece and len(lines[-1]) < _LONGEST:
                self._rest[key.fd] = lines.pop()
            for line in lines:
                if line.strip():
                    say(line.decode(errors="replace").rstrip(), str(key.data))
            if not piece:
                self._selector.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]  # a pipe, never a bare descriptor


def say(text: str, name: str = "up") -> None:
    """One line of the supervisor's own, or of a child. A closed terminal is no reason to die."""
    try:
        print(f"{name:>9} | {text}", flush=True)
    except (BrokenPipeError, OSError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # kept for as long as the process lives
