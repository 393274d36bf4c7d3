"""How the tamper evidence stands: how far roots have come, what no root outside covers, and which anchor fails.

For the system page, the figures and whoever asks. Each answer is found by an index, or stops counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from durable.models import Anchor
from durable.roots import keeping
from durable.roots.statement import parse
from durable.sql import answer

#: Counts stop here.
COUNTED = 10_000
#: So long an event may be without a root, or an anchor fail, before somebody is told.
LATE = timedelta(minutes=10)

_ROOTS = """
SELECT r.number, r.statement,
       (SELECT at FROM durable_ledgerevent WHERE id > coalesce(r.last, 0) ORDER BY id LIMIT 1),
       CASE WHEN m.last > coalesce(r.last, 0) THEN m.at END,
       (SELECT count(*) FROM (
           SELECT FROM durable_ledgerevent
           WHERE id > coalesce((SELECT last FROM durable_root WHERE number = %(kept)s), 0) LIMIT %(most)s
       ) AS open)
FROM (SELECT 1) AS one
LEFT JOIN (SELECT * FROM durable_root ORDER BY number DESC LIMIT 1) r ON true
LEFT JOIN durable_mark m ON true
"""


@dataclass(frozen=True, slots=True)
class Status:
    """`newest` is the number of the newest root, 0 for none, and `made` its moment. `waiting` is the moment of the
    oldest event without a root; `marked` since when the builder waits for transactions to end before the next.
    `open` counts events that no root outside covers, up to `COUNTED` + 1.
    """

    newest: int
    made: datetime | None
    waiting: datetime | None
    marked: datetime | None
    open: int
    anchors: dict[str, Anchor]

    def late(self, now: datetime) -> timedelta | None:
        """For how long events have been without a root, where that is too long."""
        if self.waiting is None or now - self.waiting <= max(LATE, 5 * settings.ROOT_SECONDS):
            return None
        return now - self.waiting

    def failing(self, now: datetime) -> list[Anchor]:
        """Anchors that have failed for too long."""
        return [one for one in self.anchors.values() if one.failing_since and now - one.failing_since > LATE]


def read() -> Status:
    """Return how it stands now. Raises ImportError where INTERLOCK_ANCHORS names what is not there."""
    anchors = keeping.progress()
    kept = max((one.kept for one in anchors.values()), default=0)
    row = answer(_ROOTS, {"kept": kept, "most": COUNTED + 1})
    assert row is not None
    newest, statement, waiting, marked, uncovered = row
    made = parse(statement).at if statement else None
    return Status(newest or 0, made, waiting, marked, uncovered, anchors)
