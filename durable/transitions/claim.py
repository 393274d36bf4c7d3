"""The claim of a run by one worker, and the row lock that proves it is still current."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from durable import clock
from durable.beats import stating
from durable.errors import LeaseLost
from durable.models import Run
from durable.models.fields import Clock
from durable.models.rows import columns, made
from durable.sql import answer
from durable.transitions.fence import FENCED


@dataclass(frozen=True, slots=True)
class Bill:
    """A model's answer that is not on record yet: the frozen row that waits for it, and what it cost (tokens)."""

    frozen: int
    reserved: int
    answer: Any
    tokens: int

    @staticmethod
    def values(bill: Bill | None) -> dict[str, Any]:
        """What a statement takes that records it, or nothing of the kind."""
        if bill is None:
            return {"bill": None, "answer": None, "bill_reserved": 0, "bill_tokens": 0}
        return {
            "bill": bill.frozen,
            "answer": json.dumps(bill.answer),
            "bill_reserved": bill.reserved,
            "bill_tokens": bill.tokens,
        }


@dataclass(slots=True)
class Claim:
    """A worker's right to a run: the fencing token, and what the claim was made with.

    `version` follows the run's newest checkpoint as this worker writes them: a checkpoint names the version
    that it follows. Through `lost` (the lease is gone) and `wanted` (a hold or a cancel waits) the heartbeat speaks
    to the worker. `unbilled` is written with whatever this worker writes next.
    """

    run_id: int
    run_ref: str
    attempt: int
    nonce: str
    worker: str
    lease: timedelta
    seal_key: bytes
    version: int
    lost: bool = False
    wanted: bool = False
    hung_from: float = math.inf  # on `clock.elapsed`
    unbilled: Bill | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Say how long a block of foreign code may take. A lease's length after that it counts as hung.

        Then the heartbeat no longer speaks for it, its lease runs out, and another worker takes over. Should the
        block come back after all, what it brings is a late answer.
        """
        before = self.hung_from
        self.hung_from = clock.elapsed() + seconds + self.lease.total_seconds()
        try:
            yield
        finally:
            self.hung_from = before

    @property
    def hung(self) -> bool:
        """Whether the worker has been in foreign code for longer than anything there may take."""
        return clock.elapsed() > self.hung_from

    @property
    def token(self) -> dict[str, Any]:
        """What `FENCE` takes, and how far a write pushes the lease out."""
        return {"run": self.run_id, "attempt": self.attempt, "nonce": self.nonce, "lease": self.lease}

    @property
    def actor(self) -> str:
        """How the ledger names this worker."""
        return self.worker


_HOLD = f"{FENCED} RETURNING {columns(Run, 'r')}"
_HEARTBEAT = f"{FENCED} RETURNING held OR state = 'cancelling'"


def hold_claim(claim: Claim) -> Run:
    """Lock the run for a write of its worker, and push its lease out. Raises LeaseLost for a stale token."""
    row = answer(_HOLD, claim.token)
    if row is None:
        raise _stale(claim)
    return made(Run, row)


def look(claim: Claim) -> Run:
    """Return the run as it is, without a lock: why did a statement of its worker change nothing? Raises LeaseLost."""
    run = Run.objects.filter(
        pk=claim.run_id, attempt=claim.attempt, nonce=claim.nonce, lease_until__gt=Clock()
    ).first()
    if run is None:
        raise _stale(claim)
    return run


def _stale(claim: Claim) -> LeaseLost:
    return LeaseLost(f"attempt {claim.attempt} no longer holds {claim.run_ref}; nothing was written")


def still_held(claim: Claim) -> bool:
    """Extend the lease (the heartbeat). False means that the attempt is over and its worker must stop."""
    with stating("heartbeat"):
        row = answer(_HEARTBEAT, claim.token)
    claim.lost = row is None
    claim.wanted = row is not None and bool(row[0])
    return row is not None
