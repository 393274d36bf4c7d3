"""A process that is asked to end: it starts nothing new any more, and hands the runs that it drives back.

What has begun is finished, a request at a vendor above all; what would reach outside next is left to another worker,
which goes on at once, because nothing was lost and no lease has to run out first.

Celery's main process hears of its end alone, its pool's children do not: so the word is one byte of memory that a
process shares with all that it forks. It may be set inside a signal handler and costs nothing to read. Children that
are started afresh instead of forked (macOS) share nothing: those are told by a SIGTERM of their own, or not at all.
"""

from __future__ import annotations

import mmap
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from durable.errors import HandingBack

_shared = mmap.mmap(-1, 1)
_alone = False


def begin() -> None:
    """From now on this process, and whatever it has forked or will fork, drains."""
    _shared[0] = 1


def on() -> bool:
    """Whether this process drains: a read of memory, well under a microsecond."""
    return _alone or _shared[0] == 1


def check(run_ref: str) -> None:
    """Raise HandingBack where this process drains. Asked before whatever reaches outside for the first time."""
    if on():
        raise HandingBack(f"{run_ref} is handed back: this worker is to end")


def renew() -> None:
    """Draw a line: this process does not drain, and shares the word only with what it forks from here on."""
    global _shared, _alone
    _shared, _alone = mmap.mmap(-1, 1), False


@contextmanager
def heeding() -> Iterator[None]:
    """For a block, a first SIGTERM makes this process drain, and it alone; a second one does what it did before.

    For those who send it to a whole group, children included. Outside the main thread nothing is changed.
    """
    global _alone
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def heed(_signal: int, _frame: object) -> None:
        global _alone
        _alone = True
        signal.signal(signal.SIGTERM, before)

    before = signal.signal(signal.SIGTERM, heed)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        _alone = False
