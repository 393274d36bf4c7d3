"""The message that says "look at this run". A hint and no more: the database says what is due.

A lost message is found by the sweeper, a doubled one claims nothing. So a broker that is away costs time, never work:
publishing fails quickly, and is not tried again for a few seconds.
"""

from __future__ import annotations

import logging
import time
from functools import partial

from celery import current_app
from django.db import Error, transaction

from durable.beats import stating
from durable.models import Run

log = logging.getLogger(__name__)

DRIVE = "durable.drive"
#: Seconds without a try after a failed publish: a dead broker must not slow every decision down.
PAUSE = 3.0

_silent_until = 0.0


def announce(run_ref: str) -> None:
    """Tell the workers about a run once the present transaction has committed; never before, never on a rollback."""
    transaction.on_commit(partial(tell, run_ref))


def tell(run_ref: str) -> None:
    """Publish; where nobody hears it, take back the note that it was announced: the next sweep finds the run."""
    if not publish(run_ref):
        try:
            with stating("hint"):
                Run.objects.filter(ref=run_ref).update(hinted_at=None)
        except Error as error:  # the sweeper finds it a little later
            log.warning("no hint for %s, and the database is away: %s", run_ref, type(error).__name__)


def publish(run_ref: str) -> bool:
    """Send the hint now. Returns False where the broker can't be reached; the sweeper will find the run."""
    global _silent_until
    if time.monotonic() < _silent_until:
        return False
    try:
        current_app.send_task(DRIVE, [run_ref], retry=False, ignore_result=True)
    except (
        Exception
    ) as error:  # the work is committed: whatever is wrong with the broker, nobody is told "failed"
        _silent_until = time.monotonic() + PAUSE
        log.warning("broker away, the sweeper carries on: %s", type(error).__name__)
        return False
    return True
