"""Having a person's data erased from the console or a shell: the engine erases runs, the console what it keeps itself.

What the console keeps is shown beside the runs (`erasure_beside`), and goes in the commit by which the erasure becomes
due: that of the second person who asks for the same, where it takes two. While a legal hold keeps a run of theirs it
waits with that run.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from celery import current_app

from approvals import erasure_beside
from approvals.erasure_beside import Kept
from durable import concerned, erasure_orders
from durable.concerned import Called, Found
from durable.models import Erasure

log = logging.getLogger(__name__)

TASK = "durable.erase"


@dataclass(frozen=True, slots=True)
class Look:
    """All that is shown before an erasure: the runs, and what stands beside them."""

    found: Found
    kept: tuple[Kept, ...]

    @property
    def seen(self) -> str:
        """A short name of what this shows: `ask` wants it."""
        return self.found.seen


def look(called: Sequence[Called], *, thoroughly: bool = False) -> Look:
    """Find all that has to do with somebody; see `durable.concerned.find`. Raises Invalid."""
    found = concerned.find(called, thoroughly=thoroughly)
    kept = tuple(erasure_beside.look(called))
    return Look(replace(found, beside=erasure_beside.numbers(kept)), kept)


def ask(
    called: Sequence[Called],
    *,
    actor: str,
    seen: str,
    reason: str,
    reference: str = "",
    others: str = "",
    thoroughly: bool = False,
) -> Erasure:
    """Have a person's data erased; see `durable.erasure_orders.ask`. A worker is told; beat finds it, too."""
    erasure = erasure_orders.ask(
        called,
        actor=actor,
        seen=seen,
        reason=reason,
        reference=reference,
        others=others,
        thoroughly=thoroughly,
        beside=erasure_beside.numbers(erasure_beside.look(called)),
    )
    if not erasure.proposed:
        announce(erasure.pk)
    return erasure


def announce(pk: int) -> None:
    """Tell a worker that an erasure waits. Beat finds it, too, where nobody hears this."""
    try:
        current_app.send_task(TASK, [pk], retry=False, ignore_result=True)
    except Exception as error:  # it is committed: whatever is wrong with the broker, nobody is told "failed"
        log.warning("broker away, beat carries on: %s", type(error).__name__)
