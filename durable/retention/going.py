"""One bite of a period that goes: its oldest events, and the rows of effects of which no event is left.

What was sealed for them is emptied, names that nobody bears any more are forgotten, and the sums that pages show are
made again, all in the one transaction.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.utils.module_loading import import_string

from durable import holds, summary
from durable.beats import committing
from durable.models import Indexed, RetentionPass
from durable.retention.terms import standing
from durable.sql import answer, answers, count, listed
from durable.states import ENDED

#: Events of one bite.
BITE = 2_000
_OLDEST = (
    "SELECT id, run_ref, effect_key FROM durable_ledgerevent WHERE id <= %(upto)s ORDER BY id LIMIT %(most)s"
)
_LEFT = "SELECT EXISTS (SELECT FROM durable_ledgerevent WHERE id <= %(upto)s)"
_LOCK = "SELECT id FROM durable_run WHERE ref = ANY(%(refs)s::text[]) ORDER BY id FOR UPDATE"
#: Numbers and moments are given a little apart: at a month's edge two events may have them the other way round.
_BUSY = f"""
SELECT EXISTS (
    SELECT FROM durable_run r WHERE r.id = ANY(%(runs)s::bigint[]) AND (r.state NOT IN ({listed(ENDED)})
        OR EXISTS (SELECT FROM durable_heldrun h WHERE h.run_id = r.id)
        OR EXISTS (SELECT FROM durable_sealkey k WHERE k.run_id = r.id AND k.wrapped IS NOT NULL))
) OR EXISTS (
    SELECT FROM durable_ledgerevent WHERE id = ANY(%(events)s::bigint[])
        AND at >= date_trunc('month', statement_timestamp() - %(days)s * interval '1 day', 'UTC') + interval '1 day'
)
"""
_DETAILS = "DELETE FROM durable_eventdetail WHERE event_id = ANY(%(events)s::bigint[]) RETURNING sealed_id"
_WORDS = "DELETE FROM durable_actwords WHERE event_id = ANY(%(events)s::bigint[])"
#: As the tables' owner, for the application may not; the database lets go what a cut covers, and nothing else.
_EVENTS = "SELECT durable_let_events_go(%(events)s::bigint[])"
#: Effects of which the ledger no longer speaks, and to which nothing that is there refers.
_SILENT = """
SELECT e.id, e.undo_of_id, e.linked_from_id,
       ARRAY[e.payload_id, e.payload_asked_id, e.facts_id, e.words_id, e.said_id, e.proof_id]
FROM durable_effect e
WHERE (e.key = ANY(%(keys)s::text[]) OR e.id = ANY(%(ids)s::bigint[]))
  AND NOT EXISTS (SELECT FROM durable_ledgerevent v WHERE v.effect_key = e.key AND v.effect_key <> '')
  AND NOT EXISTS (SELECT FROM durable_effect o WHERE o.undo_of_id = e.id)
  AND NOT EXISTS (SELECT FROM durable_effect o WHERE o.linked_from_id = e.id)
  AND NOT EXISTS (SELECT FROM durable_difference d WHERE d.effect_id = e.id)
"""
_SIGNALS = """
UPDATE durable_signal SET consumed_by_id = NULL
WHERE consumed_by_id IN (SELECT id FROM durable_wait WHERE effect_id = ANY(%(effects)s::bigint[]))
"""
_WAITS = "DELETE FROM durable_wait WHERE effect_id = ANY(%(effects)s::bigint[])"
_SUBJECTS = "DELETE FROM durable_subject WHERE effect_id = ANY(%(effects)s::bigint[]) RETURNING hash"
_NAMES = """
DELETE FROM durable_subjectname n WHERE n.hash = ANY(%(hashes)s::text[])
  AND NOT EXISTS (SELECT FROM durable_subject s WHERE s.hash = n.hash)
"""
_EFFECTS = "DELETE FROM durable_effect WHERE id = ANY(%(effects)s::bigint[])"
#: A box is never deleted: what names it is found by no index. Empty it takes little room and says nothing.
_EMPTY = "UPDATE durable_sealed SET box = ''::bytea WHERE id = ANY(%(boxes)s::bigint[])"


def left(upto: int) -> bool:
    """Whether events are there up to this id."""
    row = answer(_LEFT, {"upto": upto})
    return bool(row and row[0])


def bite(upto: int, of: RetentionPass | None = None, most: int = BITE) -> tuple[int, int] | None:
    """Delete the oldest events up to the id `upto`, which a cut covers. Returns how many events and effects went.

    None where a run of them is held, under way again, or has its payloads, and where the policy keeps them (by now):
    nothing went. `of` is the pass that counts them.
    """
    with committing("prune"):
        holds.fence()
        days = standing().ledger
        if days is None:
            return None
        found = answers(_OLDEST, {"upto": upto, "most": most})
        refs = sorted({ref for _, ref, _ in found})
        runs = [pk for (pk,) in answers(_LOCK, {"refs": refs})]
        events = {"events": [pk for pk, _, _ in found]}
        busy = answer(_BUSY, {"runs": runs, "days": days, **events})
        if busy and busy[0]:
            return None
        # The indexer and whoever makes its tables again: one of the two comes first.
        list(Indexed.objects.select_for_update())
        boxes = [pk for (pk,) in answers(_DETAILS, events)]
        count(_WORDS, events)
        answer(_EVENTS, events)
        effects = _effects({key for _, _, key in found if key}, boxes)
        count(_EMPTY, {"boxes": boxes})
        if of is not None:
            RetentionPass.objects.filter(pk=of.pk).update(
                events=F("events") + len(found), effects=F("effects") + len(effects)
            )
    return len(found), len(effects)


def _effects(keys: set[str], boxes: list[int]) -> list[int]:
    """Delete the effects of these keys of which nothing is left; adds what was sealed for them to `boxes`."""
    gone: list[int] = []
    asked: dict[str, Any] = {"keys": sorted(keys), "ids": []}
    while rows := answers(_SILENT, asked):
        some = [row[0] for row in rows]
        boxes += [box for row in rows for box in row[3] if box is not None]
        for path in settings.INTERLOCK_LET_GO:
            import_string(path)(some)
        effects = {"effects": some}
        count(_SIGNALS, effects)
        count(_WAITS, effects)
        hashes = sorted({hash for (hash,) in answers(_SUBJECTS, effects)})
        count(_EFFECTS, effects)
        count(_NAMES, {"hashes": hashes})
        gone += some
        # What was undone or linked by one of these may be silent too, and kept by nothing else.
        asked = {"keys": [], "ids": [pk for row in rows for pk in row[1:3] if pk is not None]}
    if gone:
        blocks = sorted({pk // summary.BLOCK for pk in gone})
        with connection.cursor() as cursor:
            cursor.execute(summary.SUM_UP, {"blocks": blocks})
    return gone
