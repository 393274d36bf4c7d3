"""The beats of the engine: every commit and every question to a vendor goes through one of these three blocks.

So each has its fault points, one before and one after, and none can be forgotten: a process can be killed there, and
what follows be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import InternalError, OperationalError, connection, transaction
from psycopg.errors import IdleInTransactionSessionTimeout

from durable import faults

_beside: ContextVar[Callable[[], None] | None] = ContextVar("beside", default=None)


@contextmanager
def beside(write: Callable[[], None]) -> Iterator[None]:
    """Let the one command of this block commit together with what `write` writes: both are kept, or neither.

    What it raises undoes the command. It is called last, so whatever it locks comes after the engine's own locks.
    """
    token = _beside.set(write)
    try:
        yield
    finally:
        _beside.reset(token)


@contextmanager
def committing(beat: str) -> Iterator[None]:
    """One transaction for the block, never inside another; `beat` is one of `faults.BEATS`.

    Raises OperationalError where the server has ended a transaction that rested for too long: its session is gone.
    """
    try:
        with transaction.atomic(durable=True):
            yield
            also = _beside.get() if beat == "command" else None
            if also is not None:
                also()
            faults.point(f"{beat}.before_commit")
    except InternalError as error:
        if isinstance(error.__cause__, IdleInTransactionSessionTimeout):
            raise OperationalError(
                "the transaction rested for too long, and the server has ended it"
            ) from error
        raise
    faults.point(f"{beat}.after_commit")


def outermost(what: str) -> None:
    """Raise RuntimeError, with `what` is to be done, where a transaction is open. That of a test does not count.

    As `atomic(durable=True)` asks, which opens one itself.
    """
    outer = connection.atomic_blocks
    if outer and not vars(outer[-1])["_from_testcase"]:
        raise RuntimeError(f"{what}, and a transaction is open")


def inside(what: str) -> None:
    """Raise RuntimeError, with `what` is to be done, where no transaction is open: it belongs into the caller's."""
    if not connection.in_atomic_block:
        raise RuntimeError(f"{what}, and no transaction is open")


@contextmanager
def stating(beat: str) -> Iterator[None]:
    """A block of one statement that commits by itself, never inside a transaction: no round trip is spent on opening
    and closing one.
    """
    outermost(f"{beat} is to commit by itself")
    faults.point(f"{beat}.before_commit")
    yield
    faults.point(f"{beat}.after_commit")


@contextmanager
def asking(call: str) -> Iterator[None]:
    """One question to the world outside; `call` is one of `faults.CALLS`. However it ends, its end is passed."""
    faults.point(f"{call}.before_call")
    try:
        yield
    finally:
        faults.point(f"{call}.after_call")
