"""What has happened lately, in buckets: runs that ended, how long decisions took, and money that moved.

All three are read in one statement, and each through an index: runs by their end, effects by when they were applied,
decisions from the newest back. So the cost is that of the period, not of the years before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from approvals.models import Decision
from approvals.queries import pages
from approvals.states import Verdict
from durable.models import Effect, Run
from durable.sql import answers
from durable.states import EffectState, RunState

_ORIGIN = datetime(2000, 1, 1, tzinfo=UTC)
#: How a run has ended, in three words.
WELL, BADLY, CALLED_OFF = "completed", "failed", "cancelled"
_ENDS = {
    RunState.COMPLETED: WELL,
    RunState.COMPENSATED: WELL,
    RunState.FAILED: BADLY,
    RunState.PARTLY_COMPENSATED: BADLY,
    RunState.CANCELLED: CALLED_OFF,
}
FAILED_STATES = [state.value for state, end in _ENDS.items() if end == BADLY]
_DECIDES = [Verdict.APPROVE.value, Verdict.REJECT.value]

# Kind, bucket, name, number, sum; of decisions also median and ninth tenth. A bucket of null is the whole period.
_SQL = """
SELECT 'ended', date_bin(%(step)s, ended_at, %(origin)s), state, count(*), 0::numeric, NULL::interval, NULL::interval
FROM durable_run WHERE ended_at >= %(start)s GROUP BY 2, 3
UNION ALL
SELECT 'moved', date_bin(%(step)s, settled_at, %(origin)s), currency, count(*), sum(amount_minor), NULL, NULL
FROM durable_effect
WHERE settled_at >= %(start)s AND state = 'applied' AND undo_of_id IS NULL AND amount_minor IS NOT NULL
GROUP BY 2, 3
UNION ALL
SELECT 'decided', bucket, '', count(*), 0, percentile_cont(0.5) WITHIN GROUP (ORDER BY took),
       percentile_cont(0.9) WITHIN GROUP (ORDER BY took)
FROM (
    SELECT date_bin(%(step)s, d.at, %(origin)s) AS bucket, d.at - g.opened_at AS took
    FROM approvals_decision d JOIN approvals_gate g ON g.id = d.gate_id
    WHERE d.id > coalesce((SELECT id FROM approvals_decision ORDER BY id DESC OFFSET %(most)s LIMIT 1), 0)
      AND d.at >= %(start)s AND d.verdict IN ('approve', 'reject')
) AS answered
GROUP BY GROUPING SETS ((bucket), ()) HAVING count(*) > 0
"""


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time up to now, cut into buckets that begin at full hours."""

    name: str
    words: str
    step: timedelta
    buckets: int

    def start(self, now: datetime) -> datetime:
        """When the first bucket begins; the last one is not over yet."""
        return now - (now - _ORIGIN) % self.step - (self.buckets - 1) * self.step

    def moments(self, now: datetime) -> Iterator[datetime]:
        """When each bucket begins."""
        start = self.start(now)
        return (start + number * self.step for number in range(self.buckets))


PERIODS = {
    "24h": Period("24h", "24 hours", timedelta(hours=1), 24),
    "7d": Period("7d", "7 days", timedelta(hours=6), 28),
}


def period(name: str) -> Period:
    """The period of an address; a day for nothing and for nonsense."""
    return PERIODS.get(name, PERIODS["24h"])


@dataclass(frozen=True, slots=True)
class Took:
    """How long decisions took: the middle one, and the one that nine of ten were no slower than."""

    number: int
    median: timedelta
    tenth: timedelta


@dataclass(slots=True)
class Trends:
    """What happened in each bucket; absent where nothing did. Money in minor units, by currency."""

    period: Period
    now: datetime
    ended: dict[datetime, dict[str, int]] = field(default_factory=dict)
    decided: dict[datetime, Took] = field(default_factory=dict)
    overall: Took | None = None
    moved: dict[str, dict[datetime, int]] = field(default_factory=dict)
    acts: dict[str, int] = field(default_factory=dict)

    def ends(self, how: str = "") -> int:
        """How many runs have ended in the period, in all or in this way."""
        return sum(number for one in self.ended.values() for end, number in one.items() if how in ("", end))


def read(span: Period, now: datetime) -> Trends:
    """Read the whole period; one statement."""
    start = span.start(now)
    values = {"step": span.step, "origin": _ORIGIN, "start": start}
    found = Trends(span, now)
    moved: defaultdict[str, dict[datetime, int]] = defaultdict(dict)
    for kind, bucket, name, number, total, median, tenth in answers(_SQL, values | {"most": pages.COUNTED}):
        match kind:
            case "ended":
                ends = found.ended.setdefault(bucket, {})
                end = _ENDS.get(RunState(name), CALLED_OFF)
                ends[end] = ends.get(end, 0) + number
            case "moved":
                moved[name][bucket] = int(total)
                found.acts[name] = found.acts.get(name, 0) + number
            case _ if bucket is None:
                found.overall = Took(number, median, tenth)
            case _:
                found.decided[bucket] = Took(number, median, tenth)
    found.moved = dict(moved)
    return found


def ended(start: datetime, *, badly: bool = False) -> QuerySet[Run]:
    """The runs that `read` counts as ended since then."""
    found = Run.objects.filter(ended_at__gte=start)
    return found.filter(state__in=FAILED_STATES) if badly else found


def moved(start: datetime, currency: str) -> QuerySet[Effect]:
    """The effects whose money `read` counts as moved since then."""
    return Effect.objects.filter(
        settled_at__gte=start,
        state=EffectState.APPLIED.value,
        undo_of=None,
        amount_minor__isnull=False,
        currency=currency,
    )


def decided(start: datetime, most: int = pages.COUNTED) -> QuerySet[Decision]:
    """The decisions that `read` counts since then, of the newest `most`."""
    older = Decision.objects.order_by("-pk").values_list("pk", flat=True)[most : most + 1].first() or 0
    return Decision.objects.filter(pk__gt=older, at__gte=start, verdict__in=_DECIDES)


def by(person: Any, start: datetime) -> QuerySet[Decision]:
    """The same, of one person."""
    return decided(start).filter(person=person)
