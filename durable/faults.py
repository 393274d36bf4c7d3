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

BEATS = MappingProxyType(
    {
        "start": "a run is started",
        "claim": "a worker takes a run",
        "heartbeat": "a worker extends its lease",
        "intent": "an intent is recorded",
        "sent": "the release of an effect is recorded, before its request",
        "outcome": "the vendor's answer is recorded",
        "looked": "a look-up that settled nothing is counted",
        "adopt": "a receipt that a look-up found is taken over",
        "doubt": "an effect is put before a person",
        "late": "an answer is recorded that came after the lease was lost",
        "round": "a new round of an effect is opened",
        "reserve": "the tokens of a model call are reserved",
        "bill": "a model's answer is recorded and billed",
        "freeze": "a read's result is frozen",
        "checkpoint": "a checkpoint is written",
        "retry": "a failed step is put off to be executed again",
        "suspend": "a run is put to wait",
        "decision": "a person's decision is recorded",
        "refusal": "a decision that could not be recorded is noted",
        "command": "an operator's command is carried out",
        "event": "an outside event is delivered",
        "undo": "the intent of an undo is recorded",
        "withdraw": "what a run has not sent is taken back",
        "failing": "a run is turned towards its failure",
        "end": "a run ends",
        "hint": "which runs were announced to the workers is noted",
        "due": "the sweeper ends a wait whose time has come",
        "wake": "the sweeper wakes a run that nothing would wake",
        "erase": "a run's seal key is destroyed",
        "index": "what the ledger tells is indexed for those who search",
        "prune": "what retention no longer keeps is deleted",
        "mark": "how far the ledger is complete is marked",
        "root": "a root over events is made",
        "keep": "what an anchor is told, or has kept, is noted",
        "recovery": "a restore from a backup is gone through",
        "restored": "what a run has done since the backup is doubted",
        "wanted": "which statements of vendors are to be made is noted",
        "listed": "what a vendor lists is set aside, to be held against the ledger",
        "account": "a vendor's statement is written down, whole",
    }
)
"""Every commit of the engine, by what makes it."""

CALLS = MappingProxyType(
    {
        "vendor": "the request to the vendor",
        "lookup": "the look-up at the vendor",
        "recheck": "the facts that an effect rests on are read",
        "read": "a step reads from the world outside",
        "model": "a step calls a model",
        "anchor": "an anchor is told of roots",
        "statement": "the vendor is asked for its account of a period",
    }
)
"""Every question of the engine to the world outside."""

POINTS = MappingProxyType(
    {
        f"{beat}.{moment}_commit": f"{moment.capitalize()} the commit by which {what}."
        for beat, what in BEATS.items()
        for moment in ("before", "after")
    }
    | {
        f"{call}.{moment}_call": f"{moment.capitalize()} {what}."
        for call, what in CALLS.items()
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
_watchers: list[Callable[[str], None]] = []
_switched: set[str] = set()
_lock = Lock()


def point(name: str) -> None:
    """Pass the point `name`. Does nothing, in well under 100 ns, while nothing is armed or watched."""
    if _armed or _watchers:
        _pass(name)


def arm(name: str, action: Callable[[], None], *, hit: int = 1) -> None:
    """Let `action` run when `name` is passed for the `hit`-th time from now, once. It may raise or kill."""
    _check(name, POINTS, "point")
    if hit < 1:
        raise ValueError(f"hit must be 1 or more, not {hit}")
    with _lock:
        _armed[name] = _Armed(action, hit)


@contextmanager
def watched(watcher: Callable[[str], None]) -> Iterator[None]:
    """For the block, `watcher` hears of every point that this process passes, before what is armed there acts."""
    with _lock:
        _watchers.append(watcher)
    try:
        yield
    finally:
        with _lock:
            _watchers.remove(watcher)


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
    for watcher in tuple(_watchers):
        watcher(name)
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
