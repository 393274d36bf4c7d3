"""The ledger goes by whole sealed periods alone, oldest first, and each step leaves a ledger that verifies.

First what is to go is verified: afterwards nobody could find out any more. Then a cut is signed (`roots.cutting`) and
kept outside: that is the receipt of the deletion. Only then events go, a bite a transaction, with the rows of effects
of which no event is left. The database lets events go that a cut covers, older than twelve months and not held, and no
others. Killed anywhere, the next pass goes on.

No period goes that holds an event of a run under way, under legal hold, or with an effect whose fate nobody knows, nor
of one that could still be retried, forked or undone because its payloads are kept: without the ledger it would do once
more what it has done. Nor one of a run that such a run was forked from; nor any later period.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from durable import acts, clock, holds
from durable.beats import committing
from durable.errors import InterlockError
from durable.journal import ENGINE
from durable.models import RetentionPass, Root
from durable.retention import going
from durable.retention.pruning import LONGEST_REST, REST
from durable.retention.terms import ABOUT, policy, standing, terms
from durable.roots import cutting, keeping, signing, verify
from durable.roots.reading import snapshot
from durable.roots.statement import parse
from durable.sql import answer, listed
from durable.states import ENDED, UNSETTLED, ActKind, RunState

log = logging.getLogger(__name__)

_UNDER_WAY = listed(set(RunState) - ENDED)
#: The first event of any run that keeps its period; each set by an index of its own. Of those that have their payloads
#: the oldest are enough: runs are numbered as they start. A bite looks once more.
_KEPT = f"""
WITH RECURSIVE kept (id, ref, parent_id) AS (
    (SELECT id, ref, parent_id FROM durable_run WHERE state IN ({_UNDER_WAY})
     UNION SELECT r.id, r.ref, r.parent_id FROM durable_heldrun h JOIN durable_run r ON r.id = h.run_id
     UNION SELECT r.id, r.ref, r.parent_id FROM durable_effect e JOIN durable_run r ON r.id = e.run_id
           WHERE e.state IN ({listed(UNSETTLED)})
     UNION (SELECT r.id, r.ref, r.parent_id FROM durable_sealkey s JOIN durable_run r ON r.id = s.run_id
            WHERE s.wrapped IS NOT NULL ORDER BY s.run_id LIMIT 1000))
    UNION SELECT p.id, p.ref, p.parent_id FROM kept k JOIN durable_run p ON p.id = k.parent_id
)
SELECT e.id, k.ref FROM kept k CROSS JOIN LATERAL (
    SELECT id FROM durable_ledgerevent WHERE run_ref = k.ref ORDER BY no LIMIT 1
) e ORDER BY e.id LIMIT 1
"""
_KEPT_AGAIN = (
    "what was cut is kept again: a run of it is held or may still act, or the policy keeps it longer"
)
_MONTH = "SELECT date_trunc('month', statement_timestamp() - %(days)s * interval '1 day', 'UTC')"
_AT = "SELECT at FROM durable_ledgerevent WHERE id = %(id)s"
_CUT = """
SELECT statement, signature FROM durable_root WHERE statement LIKE 'interlock-cut-%%' ORDER BY number DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Due:
    """The newest period that may go: its root, the id of its last event. `keeps` is the run for which no later one may
    although it is old enough; empty for none.
    """

    root: int
    last: int
    keeps: str = ""


@dataclass(frozen=True, slots=True)
class Went:
    """What became of the periods that are due. `left`: there is more, which the next pass takes."""

    events: int = 0
    effects: int = 0
    trouble: str = ""
    left: bool = False


def gone() -> int:
    """The id up to which events go, or have gone; 0 where there was no cut."""
    row = answer(_CUT, {})
    return parse(row[0]).gone if row else 0


def due(days: int) -> Due | None:
    """The newest period that is over by whole months for so many days, and may go. None where none may."""
    row = answer(_MONTH, {"days": days})
    assert row is not None
    number = _last_before(row[0])
    keeps = answer(_KEPT, {})
    old = Root.objects.filter(number__lte=number).exclude(statement__startswith="interlock-cut-")
    free = old if keeps is None else old.filter(last__lt=keeps[0])
    newest, wanted = free.order_by("-number").first(), old.order_by("-number").first()
    if newest is None or newest.last <= gone():
        return None
    blocks = keeps is not None and wanted is not None and wanted.number != newest.number
    return Due(newest.number, newest.last, keeps[1] if blocks and keeps is not None else "")


def _last_before(moment: datetime) -> int:
    """The newest statement all of whose events are older than a moment: halving the numbers; 0 for none."""
    low, high = 0, Root.objects.order_by("-number").values_list("number", flat=True).first() or 0
    while low < high:
        middle = (low + high + 1) // 2
        last = Root.objects.values_list("last", flat=True).get(number=middle)
        row = answer(_AT, {"id": last})
        low, high = (middle, high) if row is None or row[0] < moment else (low, middle - 1)
    return low


def go(*, of: RetentionPass | None = None, within: timedelta = timedelta(minutes=10)) -> Went:
    """Let go of what the policy no longer keeps of the ledger, for so long at most."""
    end = clock.elapsed() + within.total_seconds()
    days = terms(policy()).ledger
    if days is None:
        return Went()
    try:
        trouble = _cut(days)
    except InterlockError as error:
        trouble = f"the ledger was not cut: {error}"
    if trouble:
        log.error("retention of the ledger: %s", trouble)
        return Went(trouble=trouble)
    return _delete(gone(), end, of)


def _cut(days: int) -> str:
    """Sign a cut where a period is due. Returns why it could not be."""
    if holds.find_again():
        return "the search of a legal hold can't be resolved"
    found = due(days)
    if found is None:
        return ""
    signing.public_key()
    with snapshot() as wire:
        for finding in verify.going(wire, number=found.root, last=found.last, trusted=signing.trusted()):
            return f"it does not verify, so nothing of it may go: {finding}"
    with committing("prune"):
        holds.fence()
        now = standing().ledger
        again = None if now is None else due(now)
        if again is None or again.last < found.last:
            return ""
        at = answer(_AT, {"id": found.last})
        made = cutting.cut(found.root)
        body = {
            "root": made.number,
            "gone": found.last,
            "until": at[0].isoformat() if at else "",
            "chains": parse(made.statement).count,
        }
        acts.record(ActKind.LEDGER_CUT, actor=ENGINE, about=ABOUT, body=body)
    return ""


def _missing() -> str:
    """What the newest cut is without, so that nothing goes by it: our signature, or being kept outside; empty for
    nothing.
    """
    row = answer(_CUT, {})
    if row is None:
        return ""
    cut = parse(row[0])
    if not signing.signed_by_trusted(row[0], bytes(row[1]), cut.key, signing.trusted()):
        return "the newest cut is not signed by a key of ours, so nothing went"
    if not settings.INTERLOCK_ANCHORS:
        return ""
    keeping.keep()
    kept = any(one.kept >= cut.number for one in keeping.progress().values())
    return "" if kept else "the cut is not kept outside yet, so nothing went"


def _delete(upto: int, end: float, of: RetentionPass | None) -> Went:
    """Delete the events that the cut covers, and what nothing speaks of any more, a bite a transaction."""
    events, effects = 0, 0
    while going.left(upto):
        if not events and (missing := _missing()):
            return Went(trouble=missing, left=True)
        begun = time.perf_counter()
        bite = going.bite(upto, of)
        if bite is None:
            return Went(events, effects, _KEPT_AGAIN)
        events, effects = events + bite[0], effects + bite[1]
        time.sleep(min((time.perf_counter() - begun) * REST, LONGEST_REST))
        if clock.elapsed() >= end:
            return Went(events, effects, left=True)
    return Went(events, effects)
