"""The indexer: keeps `summary` and the names of subjects up with the ledger, a stretch of events at a time.

It runs beside everything else and is waited for by nobody. A stretch is one transaction: killed in it, the next pass
makes it again. Two at once do no harm: one of them finds the other at it, and leaves.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.db import Error, connection

from durable import clock, names, summary, underway, vault
from durable.beats import committing
from durable.errors import InterlockError
from durable.models import Effect, Indexed, SubjectName
from durable.sql import answer, answers, count, listed
from durable.states import EventKind

log = logging.getLogger(__name__)

#: Events of one stretch: what a reader or an erasure may have to wait for.
STRETCH = 2_000
#: Seconds after which one pass begins no further stretch; the next goes on.
TIME = 1.0
#: The events after which an effect may be about somebody else than before.
_NAMES = (EventKind.INTENT, EventKind.EDITED, EventKind.NEW_ROUND)

# Whoever draws an event's id has a transaction id already: what can still come up to `newest` has an older one than
# `until`, and has come once all those have ended.
_NOW = """
SELECT coalesce((SELECT max(id) FROM durable_ledgerevent), 0),
       pg_snapshot_xmax(s)::text::bigint
FROM pg_current_snapshot() AS s
"""
_END = """
SELECT id FROM durable_ledgerevent WHERE id > %(after)s AND id <= %(newest)s ORDER BY id OFFSET %(most)s LIMIT 1
"""
_UNNAMED = f"""
SELECT DISTINCT e.id
FROM durable_ledgerevent v JOIN durable_effect e ON e.key = v.effect_key
    JOIN durable_subject s ON s.effect_id = e.id
WHERE v.id > %(after)s AND v.id <= %(upto)s AND v.effect_key <> '' AND v.kind IN ({listed(_NAMES)})
  AND NOT EXISTS (SELECT FROM durable_subjectname n WHERE n.hash = s.hash)
"""


def catch_up(seconds: float = TIME) -> int:
    """Index what the ledger tells and the index does not, for so long at most; returns how many stretches that were.

    Raises nothing but what the database raises that is away: what goes wrong is logged, and tried again next time.
    """
    end, done = clock.elapsed() + seconds, 0
    after, newest = summary.position()
    try:
        while after < newest and clock.elapsed() < end:
            with committing("index"):
                row = Indexed.objects.select_for_update(skip_locked=True).first()
                if row is None:
                    break
                after, newest = _stretch(row, max(after, row.done))
            done += 1
    except Error:
        raise
    except Exception as error:
        log.error("indexing failed behind event %d: %s", after, type(error).__name__)
        connection.close_if_unusable_or_obsolete()
    return done


def _stretch(row: Indexed, after: int) -> tuple[int, int]:
    """Index the events behind `after`. Returns up to which that was, and the newest that can be seen."""
    ended = not underway.before(row.transaction)
    found = answer(_NOW, {})
    assert found is not None
    newest, until = found
    further = answer(_END, {"after": after, "newest": newest, "most": STRETCH})
    upto = newest if further is None else further[0] - 1
    blocks = summary.touched(after, upto)
    if blocks:
        count(summary.SUM_UP, {"blocks": blocks})
    _name([number for (number,) in answers(_UNNAMED, {"after": after, "upto": upto})])
    if after == row.done and ended:
        row.done = max(row.done, min(upto, row.mark))
    if row.done >= row.mark:
        row.mark, row.transaction = newest, until
    row.save()
    return upto, newest


def _name(effects: list[int]) -> None:
    """Put the subjects of effects under their names. What is erased stays unnamed."""
    rows: dict[str, SubjectName] = {}
    found = Effect.objects.filter(pk__in=effects).select_related("run__seal_key", "payload").order_by("pk")
    for effect in found.prefetch_related("subjects"):
        hashes = {subject.kind: subject.hash for subject in effect.subjects.all()}
        for kind, name in names.named(_args(effect), hashes).items():
            hash = hashes[kind]
            rows[hash] = SubjectName(kind=kind, hash=hash, grams=names.grams(name), box=names.box(hash, name))
    SubjectName.objects.bulk_create(rows.values(), ignore_conflicts=True)


def _args(effect: Effect) -> Mapping[str, Any]:
    """An effect's arguments; none where they are erased, or spoilt."""
    run = effect.run
    try:
        args: Mapping[str, Any] = vault.unseal(vault.key_of(run), effect.payload)["args"]
    except InterlockError:
        return {}
    return args
