"""The sweeper: finds what no message announced. With an empty or dead broker every due item is found here.

It changes little itself: it closes waits whose time has come, puts what is due before the workers, sets right what must
not be (`strays`), and asks vendors about effects that nobody else looks up (`looking`). Two sweepers do no harm: every
change is conditional, and a second hint claims nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, Min, QuerySet

from durable import answers, fairly, looking, stops, strays, waits, wakeup
from durable.beats import committing
from durable.journal import ENGINE
from durable.models import Effect, Run, Wait
from durable.models.fields import Clock, Moment
from durable.states import UNSETTLED, RunState, WaitKind, WaitState
from durable.transitions import lock_run

log = logging.getLogger(__name__)

#: Runs that one sweep announces; the rest is found by the next.
BATCH = 200
#: A run that was hinted is left to the workers for this long before it is hinted again.
PATIENCE = timedelta(seconds=10)
#: Runs at rest that one sweep looks through for lonely ones; the next goes on from there, and round again.
STRETCH = 5_000
#: Seconds after which a sweep begins no further look-up: timers and leases come round again before the rest.
LOOKING = 5.0
#: A vendor is silent when it has not been able to say what became of an effect so often, and for so long.
SILENT_LOOKS, SILENT_FOR = 5, timedelta(minutes=1)

_HINT = """
UPDATE durable_run r SET hinted_at = clock_timestamp()
FROM (
    SELECT id, hinted_at FROM durable_run
    WHERE (due_at <= clock_timestamp() AND lease_until IS NULL
           OR state IN ('running', 'failing', 'cancelling', 'compensating') AND lease_until < clock_timestamp())
      AND (hinted_at IS NULL OR hinted_at < clock_timestamp() - %(patience)s)
    ORDER BY due_at NULLS FIRST LIMIT %(batch)s FOR UPDATE SKIP LOCKED
) due
WHERE r.id = due.id
RETURNING r.ref, due.hinted_at IS NOT NULL
"""


def sweep(otherwise: Callable[[str], None] | None = None) -> dict[str, int]:
    """Sweep once. Returns how many of each kind were found; one item's failure never stops the rest.

    `otherwise` takes a due run that no message can announce, or that nobody has taken since its last hint.
    """
    work: dict[str, tuple[QuerySet[Any], Callable[[Any], object]]] = {
        "waits": (_due_waits(), _close),
        "lonely": (_stretch(strays.lonely()), strays.wake),
        "orphans": (strays.unsettled(), strays.call_person),
        "undecided": (strays.undecided(), strays.take_back),
        "unasked": (strays.unasked(), strays.ask_anew),
        "idle": (strays.idle(), strays.close),
        "lifted": (stops.left_behind(), _let_go),
        "doubts": (looking.due(), looking.looker()),
    }
    there = dict(zip(work, fairly.there([items for items, _ in work.values()]), strict=True))
    # Last, because vendors may be slow: no timer, gate or lease waits for their answers.
    items, look_up = work.pop("doubts")
    found = {kind: fairly.each(kind, *one) if there[kind] else 0 for kind, one in work.items()}
    found["hints"] = hint(otherwise)
    # What has just been set right may be in doubt since.
    due = there["doubts"] or any(found.values())
    found["doubts"] = fairly.each("doubts", items, look_up, seconds=LOOKING) if due else 0
    alert()
    return found


def hint(otherwise: Callable[[str], None] | None = None) -> int:
    """Announce runs that are due, and those whose lease ran out, to the workers."""
    values: dict[str, Any] = {"patience": max(PATIENCE, settings.SWEEP_SECONDS), "batch": BATCH}
    with committing("hint"), connection.cursor() as cursor:
        cursor.execute(_HINT, values)
        found = cursor.fetchall()
    for ref, again in found:
        heard = wakeup.publish(ref)
        if otherwise is not None and (again or not heard):
            otherwise(ref)
        elif not heard:
            break
    return len(found)


def _let_go(wait: Wait) -> None:
    """Let a run go on whose stop order was lifted by somebody who did not get round to it."""
    stops.let_go(wait, actor=ENGINE, reason="the stop order is lifted")


def _due_waits() -> QuerySet[Wait]:
    due = Wait.objects.filter(state=WaitState.OPEN.value, deadline__lte=Moment()).select_related("run")
    return due.order_by("deadline", "id")


def _close(wait: Wait) -> None:
    """End a wait whose time has come: a timer is over, an event did not come, a gate was not decided."""
    with committing("due"):
        if wait.kind == WaitKind.GATE:
            locked = answers.lock(wait.run.ref, wait.pk)
            if not Wait.objects.filter(pk=wait.pk, deadline__lte=Clock()).exists():
                return
            answers.expire(locked)
            return
        run = lock_run(wait.run.ref)
        to = WaitState.RESOLVED if wait.kind == WaitKind.TIMER else WaitState.EXPIRED
        waits.resolve(run, wait, by="clock", to=to)


#: Where the last stretch of runs at rest ended; none at the beginning of a round.
_walked: list[datetime] = []


def _stretch(runs: QuerySet[Run]) -> QuerySet[Run]:
    """The part of `runs` that is in this sweep's stretch of runs at rest: their number is no sweep's cost."""
    rest = Run.objects.filter(state=RunState.SUSPENDED.value).order_by("changed_at")
    if _walked:
        begin = _walked.pop()
        rest, runs = rest.filter(changed_at__gt=begin), runs.filter(changed_at__gt=begin)
    last = next(iter(rest.values_list("changed_at", flat=True)[STRETCH - 1 : STRETCH]), None)
    if last is None:
        return runs
    _walked.append(last)
    return runs.filter(changed_at__lte=last)


def silent() -> dict[str, tuple[int, datetime]]:
    """Vendors that can't say what became of our requests: how many wait for their word, the oldest since when."""
    open_ones = Effect.objects.filter(
        state__in=[s.value for s in UNSETTLED],
        open_sends__gt=0,
        looks__gte=SILENT_LOOKS,
        last_sent_at__lt=Moment() - SILENT_FOR,
    )
    found = open_ones.values_list("vendor").annotate(Count("id"), Min("last_sent_at")).order_by("vendor")
    return {vendor: (count, since) for vendor, count, since in found}


_told: set[str] = set()


def alert() -> None:
    """Say in the log that a vendor is silent, once however many effects wait for it; and that it no longer is."""
    now = silent()
    for vendor in now.keys() - _told:
        count, since = now[vendor]
        log.error(
            "vendor %s can't say what became of %d effects, the oldest sent at %s", vendor, count, since
        )
    for vendor in _told - now.keys():
        log.warning("no effect waits any more for what vendor %s says", vendor)
    _told.clear()
    _told.update(now)
