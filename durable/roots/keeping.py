"""Tells every anchor of the statements that it has not kept yet, and notes how far each has come.

An anchor that fails is tried again, ever more slowly; the database holds since when and why. No transaction is open
while one is told. Killed between the telling and the noting, it tells the same again.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.conf import settings
from django.utils.module_loading import import_string

from durable.beats import asking, stating
from durable.models import Anchor as Progress
from durable.models import Root
from durable.roots.anchors import Anchor, NotKept, Outgoing
from durable.roots.statement import hash_of, line
from durable.sql import answer, count

log = logging.getLogger(__name__)

#: Statements that an anchor is told at once.
BATCH = 100
#: For so long an anchor is left to the process that tells it.
PATIENCE = timedelta(minutes=5)
#: The pause after a failure doubles from the first to the last of these.
SOON, LATE = timedelta(seconds=15), timedelta(hours=1)

_TAKE = """
INSERT INTO durable_anchor AS a (name, kept, due_at, tries, trouble)
VALUES (%(name)s, 0, clock_timestamp() + %(patience)s::interval, 0, '')
ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at WHERE a.due_at <= clock_timestamp()
RETURNING kept
"""
_KEPT = """
UPDATE durable_anchor SET kept = greatest(kept, %(kept)s), kept_at = clock_timestamp(), tries = 0, trouble = '',
    failing_since = NULL, due_at = clock_timestamp() + %(pause)s::interval
WHERE name = %(name)s
"""
_FREE = "UPDATE durable_anchor SET due_at = clock_timestamp() WHERE name = %(name)s"
_FAILED = """
UPDATE durable_anchor SET tries = tries + 1, trouble = %(trouble)s,
    failing_since = coalesce(failing_since, clock_timestamp()),
    due_at = clock_timestamp() + least(%(soon)s::interval * power(2, least(tries, 20)), %(late)s::interval)
WHERE name = %(name)s
"""


def anchors() -> list[Anchor]:
    """Return the anchors that INTERLOCK_ANCHORS names. Raises ImportError where a path leads nowhere."""
    return [import_string(path)() for path in settings.INTERLOCK_ANCHORS]


def keep() -> int:
    """Tell every anchor that is due what is new to it. Returns how many anchors failed; each says why in its row."""
    return [_keep(anchor) for anchor in anchors()].count(False)


def _keep(anchor: Anchor) -> bool:
    """Tell one anchor, batch after batch. False where it failed."""
    with stating("keep"):
        row = answer(_TAKE, {"name": anchor.name, "patience": PATIENCE})
    if row is None:
        return True  # it rests, or another process is at it
    found = _after(row[0])
    if not found:
        with stating("keep"):
            count(_FREE, {"name": anchor.name})
    while found:
        try:
            with asking("anchor"):
                anchor.keep(found)
        except NotKept as error:
            _failed(anchor, str(error))
            return False
        except Exception as error:  # somebody else's code: whatever it raises, the others are told
            _failed(anchor, f"it raised {type(error).__name__}")
            return False
        more = _after(found[-1].number)
        pause = PATIENCE if more else anchor.pause
        with stating("keep"):
            count(_KEPT, {"name": anchor.name, "kept": found[-1].number, "pause": pause})
        found = more
    return True


def _after(number: int) -> list[Outgoing]:
    """The next statements after that number, the oldest first."""
    rows = Root.objects.filter(number__gt=number).order_by("number")[:BATCH]
    return [
        Outgoing(row.number, hash_of(row.statement), row.statement, line(row.statement, bytes(row.signature)))
        for row in rows
    ]


def _failed(anchor: Anchor, why: str) -> None:
    log.error("roots are not kept by the anchor %s: %s", anchor.name, why)
    with stating("keep"):
        count(_FAILED, {"name": anchor.name, "trouble": why[:500], "soon": SOON, "late": LATE})


def progress() -> dict[str, Progress]:
    """Return how far each anchor is that INTERLOCK_ANCHORS names, by name; one never told stands at 0."""
    names = [anchor.name for anchor in anchors()]
    known = {row.name: row for row in Progress.objects.filter(name__in=names)}
    return {name: known.get(name) or Progress(name=name) for name in names}
