"""What an onlooker sees of the runs at one moment: who is in the middle of what. It changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import psycopg

from proof.chaos.world import World

_CLAIMED = "SELECT ref, worker FROM durable_run WHERE lease_until > clock_timestamp()"
#: A request is out, and nothing has been heard since.
_SENT = """
SELECT r.ref, r.worker FROM durable_effect e JOIN durable_run r ON r.id = e.run_id
JOIN LATERAL (SELECT kind FROM durable_ledgerevent l WHERE l.effect_key = e.key ORDER BY l.id DESC LIMIT 1) last ON true
WHERE e.state = 'pending' AND e.open_sends > 0 AND last.kind = 'sent' AND r.lease_until > clock_timestamp()
"""
_OPEN = """
SELECT (SELECT count(*) FROM durable_run WHERE state NOT IN
           ('completed', 'failed', 'cancelled', 'compensated', 'partly compensated'))
     + (SELECT count(*) FROM durable_wait WHERE state = 'open')
"""


@dataclass(frozen=True)
class Sight:
    """Runs that are claimed, and those whose request is out, each with the process that holds it."""

    claimed: tuple[tuple[str, int], ...] = ()
    sent: tuple[tuple[str, int], ...] = ()

    def of(self, pids: set[int]) -> Sight:
        """Only what these processes hold."""
        return Sight(
            tuple(one for one in self.claimed if one[1] in pids),
            tuple(one for one in self.sent if one[1] in pids),
        )


@dataclass
class Onlooker:
    """Looks at the database of a world, as long as it answers, and remembers the head of every chain it has seen."""

    world: World
    seen: set[tuple[str, int, bytes]] = field(default_factory=set)
    _connection: psycopg.Connection[Any] | None = None

    def look(self) -> Sight | None:
        """Return what is in the middle of something; None while the database does not answer."""
        claimed = self._ask(_CLAIMED)
        sent = self._ask(_SENT)
        if claimed is None or sent is None:
            return None
        return Sight(_held(claimed), _held(sent))

    def remember(self) -> None:
        """Note where each chain stands: what is seen once must never be gone."""
        rows = self._ask("SELECT run_ref, no, head FROM durable_chain")
        self.seen |= {(ref, no, bytes(head)) for ref, no, head in rows or ()}

    def left(self) -> int:
        """How many runs have not ended, and how many waits are open; more than nothing where nobody can say."""
        rows = self._ask(_OPEN)
        return int(rows[0][0]) if rows else 1

    def count(self, table: str) -> int:
        """How many rows a table has; 0 where nobody can say."""
        rows = self._ask(f"SELECT count(*) FROM {table}")
        return int(rows[0][0]) if rows else 0

    def done_by(self, pids: set[int]) -> tuple[int, int]:
        """How many attempts these processes have begun, and how many requests they have sent."""
        attempts = self._ask("SELECT worker FROM durable_attempt") or []
        sent = self._ask("SELECT actor FROM durable_ledgerevent WHERE kind = 'sent'") or []
        return sum(_pid(one) in pids for (one,) in attempts), sum(_pid(one) in pids for (one,) in sent)

    def _ask(self, statement: str) -> list[Any] | None:
        try:
            if self._connection is None or self._connection.closed:
                self._connection = self.world.connect()
            return self._connection.execute(statement).fetchall()
        except psycopg.Error:
            self.close()
            return None

    def close(self) -> None:
        """Let the connection go."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _held(rows: list[Any]) -> tuple[tuple[str, int], ...]:
    return tuple((ref, _pid(worker)) for ref, worker in rows)


def _pid(worker: str) -> int:
    """A worker's name ends with the number of its process."""
    return int(worker.rpartition(":")[2] or 0)
