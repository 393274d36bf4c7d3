"""Named places at which a test may stop, kill or delay the engine, and guards that it may take out.

Nothing here can be reached from outside: no setting, variable, request or row arms a point. Code in the same
process does, or nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from types import MappingProxyType

_BEATS = {
    "claim": "a worker takes a run",
    "intent": "an intent is recorded",
    "sent": "the release of an effect is recorded, before its request",
    "outcome": "the vendor's answer is recorded",
    "adopt": "a receipt that a look-up found is taken over",
    "late": "an answer is recorded that came after the lease was lost",
    "checkpoint": "a checkpoint is written",
    "suspend": "a run is put to wait",
    "decision": "a person's decision is recorded",
    "command": "an operator's command is carried out",
    "undo": "the undo of an effect is recorded",
    "end": "a run ends",
}
_CALLS = {
    "vendor": "the request to the vendor",
    "lookup": "the look-up at the vendor",
}

POINTS = MappingProxyType(
    {
        f"{beat}.{moment}_commit": f"{moment.capitalize()} the commit by which {what}."
        for beat, what in _BEATS.items()
        for moment in ("before", "after")
    }
    | {
        f"{call}.{moment}_call": f"{moment.capitalize()} {what}."
        for call, what in _CALLS.items()
        for moment in ("before", "after")
    }
)
"""Every point that the engine passes, with what it stands before or after."""

SWITCHES = MappingProxyType(
    {
        "lookup.skip": "Reconciling does not ask the vendor, as if the tool had no look-up.",
    }
)
"""Every guard that can be taken out, with what is missing then."""


@dataclass(slots=True)
class _Armed:
    action: Callable[[], None]
    left: int


_armed: dict[str, _Armed] = {}
_switched: set[str] = set()
_lock = Lock()


def point(name: str) -> None:
    """Pass the point `name`. Does nothing, in well under 100 ns, while no point is armed in this process."""
    if _armed:
        _pass(name)


def arm(name: str, action: Callable[[], None], *, hit: int = 1) -> None:
    """Let `action` run when `name` is passed for the `hit`-th time from now, once. It may raise or kill."""
    _check(name, POINTS, "point")
    if hit < 1:
        raise ValueError(f"hit must be 1 or more, not {hit}")
    with _lock:
        _armed[name] = _Armed(action, hit)


def switch(name: str) -> bool:
    """Whether the guard `name` has been taken out in this process."""
    if not _switched:
        return False
    _check(name, SWITCHES, "switch")
    return name in _switched


def turn(name: str, on: bool) -> None:
    """Take the guard `name` out (`on`), or put it back."""
    _check(name, SWITCHES, "switch")
    with _lock:
        (_switched.add if on else _switched.discard)(name)


@contextmanager
def turned_on(name: str) -> Iterator[None]:
    """The guard `name` is out for the block."""
    turn(name, True)
    try:
        yield
    finally:
        turn(name, False)


def disarm_all() -> None:
    """Nothing is armed afterwards, and every guard is back."""
    with _lock:
        _armed.clear()
        _switched.clear()


def _pass(name: str) -> None:
    _check(name, POINTS, "point")
    with _lock:
        armed = _armed.get(name)
        if armed is None:
            return
        armed.left -= 1
        if armed.left:
            return
        del _armed[name]
    armed.action()  # outside the lock: it may never come back


def _check(name: str, known: MappingProxyType[str, str], what: str) -> None:
    if name not in known:
        raise ValueError(f"no fault {what} is called {name!r}; known are {', '.join(sorted(known))}")
