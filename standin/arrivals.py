"""Requests that are still on their way when their sender has gone. They arrive in their own time, or when time passes.

`hasten` is how a test lets an hour go by: what would have arrived within it has arrived when it returns.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

#: Seconds between two looks at whether a request's time has come, which `hasten` may have brought nearer.
_BEAT = 0.05


@dataclass(slots=True)
class _Coming:
    due: float
    act: Callable[[], object]
    over: threading.Event
    here: bool = False
    acted: threading.Event = field(default_factory=threading.Event)


class Arrivals:
    """What is on its way. `over` is set when a request shall never arrive."""

    def __init__(self) -> None:
        self._coming: list[_Coming] = []
        self._lock = threading.Lock()

    def expect(self, seconds: float, act: Callable[[], object], over: threading.Event) -> None:
        """Let `act` happen `seconds` from now."""
        coming = _Coming(time.monotonic() + seconds, act, over)
        with self._lock:
            self._coming.append(coming)
        threading.Thread(target=self._wait, args=(coming,), daemon=True).start()

    def hasten(self, seconds: float) -> None:
        """Bring everything `seconds` nearer; what is due then arrives before this returns, in its order."""
        with self._lock:
            for coming in self._coming:
                coming.due -= seconds
            due = sorted((c for c in self._coming if c.due <= time.monotonic()), key=lambda c: c.due)
        for coming in due:
            self._arrive(coming)
            coming.acted.wait()

    def _wait(self, coming: _Coming) -> None:
        while (left := coming.due - time.monotonic()) > 0 and not coming.here:
            coming.over.wait(min(left, _BEAT))
            if coming.over.is_set():
                break
        self._arrive(coming)

    def _arrive(self, coming: _Coming) -> None:
        """Act once, whichever thread is first; not at all once it is over."""
        with self._lock:
            first, coming.here = not coming.here, True
            if first:
                self._coming.remove(coming)
        if not first:
            return
        try:
            if not coming.over.is_set():
                coming.act()
        finally:
            coming.acted.set()
