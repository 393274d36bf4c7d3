"""Claims: one worker at a time holds a run, for as long as its heartbeat keeps the lease alive.

The lease runs on the database's clock. The attempt and its nonce are the fencing token: whoever was paused
beyond its lease finds its writes refused, whatever its name and however alive it feels.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import Error, OperationalError, connection
from psycopg.errors import LockNotAvailable

from durable import vault
from durable.beats import stating
from durable.errors import InterlockError
from durable.sql import answer
from durable.transitions import Claim, still_held
from durable.transitions.hot import CLAIM

log = logging.getLogger(__name__)

#: How long a claim waits for whoever holds the run's row: a transaction of ours takes a fraction of it.
PATIENCE = timedelta(seconds=1)


class Unopened(InterlockError):
    """The sealing key of a claimed run does not open, though this worker's setting opens others'."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(
            "its sealing key does not open under INTERLOCK_SEAL_KEY, as those of other runs do: it was started under "
            "another one, or changed in the database; retry it once that is put right"
        )
        self.claim = claim


def worker_name() -> str:
    """Return the name under which this process appears in attempts and events. Not an identity: the nonce is."""
    return f"{socket.gethostname()}:{os.getpid()}"


def claim(run_ref: str) -> Claim | None:
    """Take a due run, or one whose lease has run out. None where there is nothing to claim: another worker
    was first. Raises Unopened for one whose sealed data can't be read: it is claimed, and must be put to rest.

    Whoever holds the run's row at the moment, a person's answer or another claim, is waited for: else the message
    that announced the run would be used up, and the run lie until the sweeper comes by.
    """
    lease, nonce, worker = settings.LEASE_SECONDS, secrets.token_hex(8), worker_name()
    values: dict[str, Any] = {"ref": run_ref, "nonce": nonce, "worker": worker, "lease": lease}
    values["patience"] = f"{PATIENCE / timedelta(milliseconds=1):.0f}ms"
    try:
        with stating("claim"):
            row = answer(CLAIM, values)
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        log.warning("%s is locked by somebody who does not let go of it; it is left to the sweeper", run_ref)
        return None
    if row is None:
        return None
    run_id, attempt, version, wrapped = row
    taken = Claim(run_id, run_ref, attempt, nonce, worker, lease, b"", version)
    if wrapped is not None:
        try:
            taken.seal_key = vault.unwrap(bytes(wrapped), run_ref)
        except vault.Tampered:
            raise Unopened(taken) from None
    return taken


class Heartbeat(threading.Thread):
    """Extends the lease from a connection of its own while a step takes long; tells the claim when it is lost."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(name=f"heartbeat {claim.run_ref}", daemon=True)
        self.claim = claim
        self._over = threading.Event()
        self._told = False

    def run(self) -> None:
        """Beat three times a lease. A beat that fails is repeated; only the database's refusal ends the lease.

        A worker that hangs (`Claim.within`) is not spoken for: its lease runs out.
        """
        try:
            while not self._over.wait(self.claim.lease.total_seconds() / 3):
                if self.claim.hung:
                    self._tell()
                    continue
                try:
                    if not still_held(self.claim):
                        return
                except Error:
                    log.warning("heartbeat of %s found no database", self.claim.run_ref)
                    connection.close()
        finally:
            connection.close()

    def _tell(self) -> None:
        if not self._told:
            log.error("the worker of %s hangs; its lease is left to run out", self.claim.run_ref)
        self._told = True

    def stop(self) -> None:
        """End the heartbeat; the lease stays as the last write left it."""
        self._over.set()
        self.join()


@contextmanager
def beating(claim: Claim) -> Iterator[Heartbeat]:
    """Keep a claim alive for the length of a block."""
    heartbeat = Heartbeat(claim)
    heartbeat.start()
    try:
        yield heartbeat
    finally:
        heartbeat.stop()
