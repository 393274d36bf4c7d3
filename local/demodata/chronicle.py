"""A run's ledger as it is told: time passes, events are chained, and what is personal is sealed."""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from durable import vault
from durable.journal import ENGINE
from durable.states import EventKind
from local.demodata.rows import Rows, canonical


@dataclass(frozen=True)
class World:
    """What all stories of one database share: when it was made (UTC, without a zone), the numbers of its people, and a
    name that no other one has.
    """

    until: datetime
    people: Mapping[str, int]
    name: str = field(default_factory=lambda: secrets.token_hex(8))


@dataclass(kw_only=True)
class Chronicle:
    """The events of the run with the number `id`. `now` is the moment that its story has come to."""

    rows: Rows
    chance: random.Random
    id: int
    now: datetime
    ref: str = ""
    seal_key: bytes = b""
    last_no: int = 0
    head: bytes = b""

    def pass_time(self, least: float, most: float) -> datetime:
        """Let `least` to `most` seconds pass; returns the moment that it then is."""
        self.now += timedelta(microseconds=int(1e6 * (least + (most - least) * self.chance.random())))
        return self.now

    def seal(self, text: str) -> tuple[int, str]:
        """Seal canonical JSON; returns its number and its digest."""
        digest, box = vault.box_bytes(self.seal_key, text.encode())
        return self.rows.add("durable_sealed", self.id, digest, box, self.now), digest

    def event(
        self,
        kind: EventKind,
        key: str = "",
        *,
        actor: str = ENGINE,
        body: dict[str, Any] | None = None,
        words: str = "",
    ) -> int:
        """Append an event to the run's chain, a few milliseconds later; returns its number in the run.

        The hash is what the database's trigger would have set.
        """
        self.pass_time(0.002, 0.03)
        self.last_no += 1
        facts, sealed = body or {}, 0
        if words:
            sealed, facts["words"] = self.seal(canonical(words))
        text, at = canonical(facts), self.now.isoformat(timespec="microseconds")
        lines = ("interlock-1", self.ref, str(self.last_no), kind.value, key, actor, f"{at}Z", text)
        self.head = hashlib.sha256(self.head + "\n".join(lines).encode()).digest()
        number = self.rows.add(
            "durable_ledgerevent", self.ref, self.last_no, kind.value, key, actor, text, f"{at}Z", self.head
        )
        if words:
            self.rows.add("durable_eventdetail", number, sealed)
        return self.last_no
