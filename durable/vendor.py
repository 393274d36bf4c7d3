"""What passes between the engine and a tool's functions: the call that goes out, the receipt that comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Receipt:
    """The vendor's proof that it acted.

    `id` is the vendor's own name for what it made. `amount` and `currency` are what the vendor says moved (None where
    no money moves), `target` whom or what it was done to, `account` the vendor account, `key` our idempotency key where
    the vendor shows it back. `facts` is the rest of the answer as plain JSON, without secrets. `decided` is set
    by the engine when a step gets the receipt: the arguments as they were let out, which differ from those asked
    for after an edit.
    """

    id: str
    amount: Decimal | None = None
    currency: str | None = None
    target: str | None = None
    account: str | None = None
    key: str | None = None
    at: datetime | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    decided: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Absent:
    """A look-up answered, and found nothing. Not a proof: see the tool's `lookup_lag` and `in_flight`."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """A look-up found effects that could be ours, none of which bears our key. For people, never adopted by
    software.
    """

    receipts: tuple[Receipt, ...]


LookupAnswer = Receipt | Absent | Candidates


@dataclass(frozen=True, slots=True)
class Period:
    """What a statement is asked for: everything that the vendor did for us from a moment on, and before `until`, where
    there is one. Each question to the vendor may take `timeout` seconds.
    """

    since: datetime
    timeout: float
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a vendor, as the tool's function receives it beside its typed arguments.

    `key` is the idempotency key, `run` the run's public id. `timeout` is the number of seconds that the whole
    call may take, from now: adapters pass it to their client and turn the client's own retries off. `args`
    are the canonical arguments as decided. For an undo, `undoes` is the receipt of the effect that it undoes.
    """

    key: str
    run: str
    timeout: float
    args: Mapping[str, Any]
    undoes: Receipt | None = None
    first_sent_at: datetime | None = None
