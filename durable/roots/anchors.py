"""Places outside of the database that keep roots: whoever rewrites the database can't rewrite what they hold.

Each is named in INTERLOCK_ANCHORS by its dotted path, made without arguments, and told in order of every statement that
is new. It may be told of one again, after a kill or a failure: to keep it twice does no harm. None ever reads back.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from smtplib import SMTPException
from typing import Protocol

import urllib3
from django.conf import settings
from django.core.mail import EmailMessage
from urllib3.exceptions import HTTPError

from durable.errors import InterlockError


class NotKept(InterlockError):
    """An anchor did not keep what it was told. The message says why in one sentence, without address or password."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One statement on its way out: its number, its own hash, its text, and the line of JSON with its signature."""

    number: int
    hash: str
    statement: str
    line: str


class Anchor(Protocol):
    """What stands behind a dotted path of INTERLOCK_ANCHORS.

    `name` tells it from the others for good: under it the database notes how far it has been told. It is not told more
    often than every `pause`.
    """

    name: str
    pause: timedelta

    def keep(self, statements: Sequence[Outgoing]) -> None:
        """Keep all of them, in order, and return when they are sure to be there. Raises NotKept."""


class File:
    """A file of JSON lines that is only added to. On another machine's disk, or one that is copied there, it counts."""

    name, pause = "file", timedelta(0)

    def __init__(self) -> None:
        self.path = Path(settings.INTERLOCK_ANCHOR_FILE)

    def keep(self, statements: Sequence[Outgoing]) -> None:
        """Add a line for each, and wait for the disk. A line that a kill has torn is ended first and stays as it is."""
        try:
            fresh = not self.path.exists()
            with os.fdopen(os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                size = file.seek(0, os.SEEK_END)
                torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
                text = "".join(f"{one.line}\n" for one in statements)
                file.write(b"\n" * torn + text.encode())
                file.flush()
                os.fsync(file.fileno())
            if fresh:
                _sync(self.path.parent)
        except OSError as error:
            raise NotKept(f"the file of roots can't be written: {error.strerror}") from error


def _sync(folder: Path) -> None:
    """Make a new file's name as durable as its content."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


class Mail:
    """A letter with the newest root, and all that are new in an attached file of JSON lines."""

    name = "mail"

    def __init__(self) -> None:
        self.pause = settings.INTERLOCK_ANCHOR_MAIL_SECONDS

    def keep(self, statements: Sequence[Outgoing]) -> None:
        """Send it to everybody in INTERLOCK_ANCHOR_MAIL."""
        if not settings.INTERLOCK_ANCHOR_MAIL:
            raise NotKept("INTERLOCK_ANCHOR_MAIL names nobody to write to")
        newest = statements[-1]
        letter = EmailMessage(
            subject=f"Interlock root {newest.number}: {newest.hash[:16]}",
            body=f"Keep this letter. The ledger of {settings.PUBLIC_URL} says of itself:\n\n{newest.statement}\n\n"
            "This statement speaks for all before it. Put the attached lines into one file with those of earlier "
            "letters; `manage.py verify --anchors FILE` holds the database against it.\n",
            to=settings.INTERLOCK_ANCHOR_MAIL,
        )
        lines = "".join(f"{one.line}\n" for one in statements)
        letter.attach(f"roots-{newest.number}.jsonl", lines.encode(), "application/octet-stream")
        try:
            letter.send()
        except (OSError, SMTPException) as error:
            raise NotKept(f"the letter could not be sent ({type(error).__name__})") from error


class Store:
    """An object store that takes a PUT by HTTP: an object for each statement, which nobody is asked to replace."""

    name, pause = "store", timedelta(0)
    #: Seconds that one request may take.
    within = 10.0

    def keep(self, statements: Sequence[Outgoing]) -> None:
        """Put each at INTERLOCK_ANCHOR_URL under its number and hash, on the condition that nothing is there."""
        if not settings.INTERLOCK_ANCHOR_URL:
            raise NotKept("INTERLOCK_ANCHOR_URL names no store")
        headers = {"If-None-Match": "*", "Content-Type": "application/json"}
        if settings.INTERLOCK_ANCHOR_TOKEN:
            headers["Authorization"] = f"Bearer {settings.INTERLOCK_ANCHOR_TOKEN}"
        timeout = urllib3.Timeout(total=self.within)
        with urllib3.PoolManager(retries=False, timeout=timeout) as wire:
            for one in statements:
                self._put(wire, one, headers)

    def _put(self, wire: urllib3.PoolManager, one: Outgoing, headers: dict[str, str]) -> None:
        name = f"root-{one.number:012d}-{one.hash[:16]}.json"
        url = f"{settings.INTERLOCK_ANCHOR_URL.rstrip('/')}/{name}"
        try:
            answer = wire.request("PUT", url, body=f"{one.line}\n".encode(), headers=headers, redirect=False)
        except HTTPError as error:
            raise NotKept(f"the store can't be reached ({type(error).__name__})") from error
        # 412: an object of this name is there. The name holds the hash, so it is this one, from before.
        if answer.status not in (200, 201, 204, 412):
            raise NotKept(f"the store answered {answer.status} to root {one.number}")
