"""The folder in which exports lie: outside of what a web server gives out, readable by this account alone.

A file is written under the name of its claim, flushed, and only then takes its own name: what bears that is whole.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedRandom
from pathlib import Path

from django.conf import settings

from durable.errors import InterlockError

_OURS = re.compile(r"(\d+)-(\d+)\.(?:part|csv|jsonl|zip)")
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
BLOCK = 1024 * 1024


class NoRoom(InterlockError):
    """The disk takes no more; nothing is left of what was written."""


def folder() -> Path:
    """Return the folder, made where it is not there."""
    found = Path(settings.INTERLOCK_EXPORTS)
    found.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found


def path(name: str) -> Path:
    """Return where a file of this name lies. Raises ValueError for a name that no export has."""
    if not _OURS.fullmatch(name):
        raise ValueError(f"{name!r} is no file of an export")
    return folder() / name


@contextmanager
def written(name: str) -> Iterator[BufferedRandom]:
    """A file to be written, which has its name once the block is over and all is on the disk; else none is left.

    Raises NoRoom where the disk, a quota or a limit takes no more.
    """
    final = path(name)
    part = final.with_suffix(".part")
    how = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(part, "x+b", opener=lambda at, _: os.open(at, how, 0o600)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.rename(part, final)
        _flush(final.parent)
    except BaseException as error:
        for left in (part, final):
            with suppress(OSError):
                left.unlink()
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise NoRoom(
                f"the disk that holds the folder for exports has no room left ({error.strerror})"
            ) from error
        raise


def _flush(place: Path) -> None:
    found = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(found)
    finally:
        os.close(found)


def remove(name: str) -> None:
    """Take a file away; nothing where there is none, or no name."""
    if name:
        path(name).unlink(missing_ok=True)


def clear(wanted: Callable[[int, int, str], bool]) -> int:
    """Take away each file of an export (number, claim, name) that is not wanted any more; return how many."""
    gone = 0
    for found in folder().iterdir():
        named = _OURS.fullmatch(found.name)
        if named and not wanted(int(named[1]), int(named[2]), found.name):
            found.unlink(missing_ok=True)
            gone += 1
    return gone
