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

    def hasten(self, seconds: float, tick: Callable[[float], None]) -> None:
        """Let `seconds` pass, as `tick` moves the clock: what is due within them arrives before this returns.

        Each arrives at its own moment, with the clock as it is then.
        """
        left = seconds
        while (coming := self._next(left)) is not None:
            step = max(coming.due - time.monotonic(), 0.0)
            self._pass(step, tick)
            left -= step
            self._arrive(coming)
            coming.acted.wait()
        self._pass(max(left, 0.0), tick)

    def _next(self, within: float) -> _Coming | None:
        with self._lock:
            due = [coming for coming in self._coming if coming.due <= time.monotonic() + within]
        return min(due, key=lambda coming: coming.due, default=None)

    def _pass(self, seconds: float, tick: Callable[[float], None]) -> None:
        tick(seconds)
        with self._lock:
            for coming in self._coming:
                coming.due -= seconds

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
