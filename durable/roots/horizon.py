"""Up to which event the ledger is complete: no event with such an id, or a smaller one, can come any more.

Ids are drawn in order but committed in any order. An event draws its id when its transaction already has a number of
its own (the trigger sees to that), and ids are drawn one by one. So: read the newest id that is there, then take a
transaction number of one's own. Whoever drew an id up to that one has a smaller transaction number; when all those have
ended, the ids up to there are complete. Nobody waits: a mark is left, and looked at again later.

The end of a snapshot (`pg_snapshot_xmax`) would not do for the number: transactions beyond it may be under way.
"""

from __future__ import annotations

from durable import underway
from durable.beats import stating
from durable.errors import InterlockError
from durable.models import LedgerEvent
from durable.sql import answer, count

_MARK = """
INSERT INTO durable_mark (id, last, transaction) VALUES (1, %(last)s, pg_current_xact_id()::text::bigint)
ON CONFLICT (id) DO UPDATE SET last = excluded.last, transaction = excluded.transaction, at = clock_timestamp()
"""
_PASSED = """
SELECT last, transaction, transaction >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
       transaction <= pg_snapshot_xmin(pg_current_snapshot())::text::bigint
FROM durable_mark WHERE id = 1
"""
_DRAWN = "SELECT seqcache FROM pg_sequence WHERE seqrelid = 'durable_ledgerevent_id_seq'::regclass"


class OutOfOrder(InterlockError):
    """Ids of events are not drawn one by one, so no root can say what is complete."""


def reach() -> int:
    """Return the id up to which events are known to be complete; 0 for none. Raises OutOfOrder.

    Where it takes the end of transactions that are under way, the mark waits for them, and a later call goes on.
    """
    if answer(_DRAWN, {}) != (1,):
        raise OutOfOrder(
            "events draw their ids in batches; as the tables' owner: ALTER SEQUENCE durable_ledgerevent_id_seq CACHE 1"
        )
    reached = _passed()
    if reached is None:
        return 0
    newest = LedgerEvent.objects.order_by("-id").values_list("id", flat=True).first() or 0
    if newest > reached:
        with stating("mark"):
            count(_MARK, {"last": newest})
        # Most often nobody else writes at this moment, and what has just been marked is complete already.
        reached = _passed() or reached
    return reached


def _passed() -> int | None:
    """The id of the mark, once all that it waits for has ended; None while it waits; 0 without one.

    A mark that a dump has brought from another server says nothing: that server's transactions are not known here.
    """
    row = answer(_PASSED, {})
    if row is None:
        return 0
    last, number, foreign, passed = row
    if foreign:
        return 0
    return int(last) if passed or not underway.before(number) else None
