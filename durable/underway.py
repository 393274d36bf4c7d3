"""Which transactions of this database are still under way.

A snapshot's bounds count those of every database of the server: a long one elsewhere would hold up what waits for ours.
"""

from __future__ import annotations

from durable.sql import answer

# A transaction holds a lock on its own number from before it draws anything by it until after it has ended, and whoever
# reads the locks sees each that is held all the while. A prepared one has no process, so its database is not known.
# Numbers are compared in their lower 32 bits, which is all that a lock has of them.
_BEFORE = """
SELECT EXISTS (
    SELECT FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
      AND (a.datid IS NULL OR a.datid = (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND (%(number)s::bigint - l.transactionid::text::bigint) & 4294967295 BETWEEN 1 AND 2147483647
)
"""


def before(number: int) -> bool:
    """Whether a transaction of this database, with a smaller number than this one, has not ended yet."""
    return answer(_BEFORE, {"number": number}) != (False,)
