"""The day's pass: whatever beat asks, and however often, what is due goes once a day, and the day has one record.

A day is one of UTC by the database's clock: no zone has it twice or leaves it out. A pass that was killed, or whose
time was over, is gone on with when beat asks again.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import connection

from durable import acts, holds
from durable.beats import committing, stating
from durable.journal import ENGINE
from durable.models import RetentionPass
from durable.models.fields import Clock
from durable.retention import periods, pruning, storage
from durable.retention.terms import ABOUT, policy
from durable.states import ActKind

log = logging.getLogger(__name__)

#: What of a pass is counted, as its record and its event have it.
COUNTED = ("runs", "checkpoints", "frozen", "messages", "payloads", "effects", "events")
_TODAY = """
INSERT INTO durable_retentionpass (day, policy_id, begun_at, asked_at, runs, checkpoints, frozen, messages, payloads,
                                   events, effects, trouble)
SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date, %s, clock_timestamp(), clock_timestamp(), 0, 0, 0, 0, 0, 0, 0, ''
ON CONFLICT (day) DO UPDATE SET asked_at = excluded.asked_at
RETURNING id
"""


def daily(within: timedelta = pruning.WITHIN) -> RetentionPass:
    """Go on with today's pass, beginning it where it has not begun. Returns it; a pass that has ended does nothing."""
    today = _today()
    if today.ended_at is not None:
        return today
    storage.record()
    if holds.find_again():
        return _put_off(today, "the search of a legal hold can't be resolved, so nothing goes")
    by_runs = pruning.prune(within=within, of=today)
    if by_runs.left:
        return _again(today)
    by_periods = periods.go(of=today, within=within)
    if not by_periods.left:
        _end(today, by_periods.trouble)
    return _again(today)


def _today() -> RetentionPass:
    number = policy().pk
    with stating("prune"), connection.cursor() as cursor:
        cursor.execute(_TODAY, [number])
        (pk,) = cursor.fetchone()
    return RetentionPass.objects.get(pk=pk)


def _again(one: RetentionPass) -> RetentionPass:
    one.refresh_from_db()
    return one


def _put_off(one: RetentionPass, trouble: str) -> RetentionPass:
    """Say why nothing goes for now; the pass goes on when it is asked for again."""
    with stating("prune"):
        RetentionPass.objects.filter(pk=one.pk).update(trouble=trouble)
    return _again(one)


def _end(one: RetentionPass, trouble: str) -> None:
    """Write down that today's pass is over, and what has gone in it."""
    with committing("prune"):
        open_ = RetentionPass.objects.select_for_update().filter(pk=one.pk, ended_at=None)
        row = open_.first()
        if row is None:
            return
        RetentionPass.objects.filter(pk=one.pk).update(ended_at=Clock(), trouble=trouble)
        gone = {name: getattr(row, name) for name in COUNTED}
        body = {"day": row.day.isoformat(), "policy": row.policy_id, "gone": gone}
        acts.record(
            ActKind.RETENTION_PASSED,
            actor=ENGINE,
            about=ABOUT,
            body=body | ({"left": trouble} if trouble else {}),
        )
