"""The sweeper: finds what no message announced. With an empty or dead broker every due item is found here.

It changes little itself: it closes waits whose time has come, puts what is due before the workers, and asks
vendors again about effects in doubt. Two sweepers at once do no harm: every change is conditional, and a
second hint claims nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection
from django.db.models import Exists, OuterRef, Q

from durable import answers, clock, plan, rounds, stops, vault, waits, wakeup
from durable.beats import committing, stating
from durable.errors import Conflict, NotFound
from durable.journal import ENGINE
from durable.ledger import outcome
from durable.models import Effect, Run, Wait
from durable.models.fields import Clock
from durable.reconcile import Adopt, judge, look, pause
from durable.states import ENDED, ENDING, UNSETTLED, Attention, EffectState, RunState, WaitKind, WaitState
from durable.transitions import close_wait, lock_run

log = logging.getLogger(__name__)
Item = TypeVar("Item")

#: Items of one kind that one sweep takes; the rest is found by the next.
BATCH = 200
#: A run that was hinted is left to the workers for this long before it is hinted again.
PATIENCE = timedelta(seconds=10)

_HINT = """
UPDATE durable_run r SET hinted_at = clock_timestamp()
FROM (
    SELECT id, hinted_at FROM durable_run
    WHERE (due_at <= clock_timestamp() AND lease_until IS NULL OR lease_until < clock_timestamp())
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
    return {
        "waits": _each(_due_waits(), _close),
        "lonely": _each(_lonely_runs(), _wake),
        "orphans": _each(_orphans(), _call_person),
        "lifted": _each(stops.left_behind(BATCH), _let_go),
        "hints": hint(otherwise),
        # Last, because vendors may be slow: no timer, gate or lease waits for their answers.
        "doubts": _each(_doubts(), look_again),
    }


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


def _each(items: Iterable[Item], act: Callable[[Item], None]) -> int:
    count = 0
    for item in items:
        try:
            act(item)
        except (Conflict, NotFound) as gone:
            log.info("sweep: %s", gone)
        except Exception as error:
            # One bad item must not stop the rest; a database that is away stops them all.
            log.error("sweep: %s failed: %s", item, type(error).__name__)
            connection.close_if_unusable_or_obsolete()
            connection.ensure_connection()
        count += 1
    return count


def _let_go(wait: Wait) -> None:
    """Let a run go on whose stop order was lifted by somebody who did not get round to it."""
    stops.let_go(wait, actor=ENGINE, reason="the stop order is lifted")


def _due_waits() -> list[Wait]:
    due = Wait.objects.filter(state=WaitState.OPEN.value, deadline__lte=Clock()).select_related("run")
    return list(due.order_by("deadline")[:BATCH])


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


def _lonely_runs() -> list[str]:
    """Runs at rest, on their way forward or to an end, without an open wait: nothing would ever wake them."""
    waiting = Wait.objects.filter(run=OuterRef("pk"), state=WaitState.OPEN.value)
    resting = Q(state=RunState.SUSPENDED.value, held=False) | Q(
        state__in=[s.value for s in ENDING], lease_until=None, due_at=None
    )
    lonely = Run.objects.filter(resting & ~Exists(waiting))
    return list(lonely.values_list("ref", flat=True)[:BATCH])


def _wake(run_ref: str) -> None:
    with committing("wake"):
        run = lock_run(run_ref)
        if not waits.open_waits(run):
            waits.wake(run)


def _orphans() -> list[Effect]:
    """Unsettled effects of ended runs: there should be none, so each is put before a person."""
    asked = Wait.objects.filter(state=WaitState.OPEN.value, effect__isnull=False).values("effect_id")
    ended = [state.value for state in ENDED]
    unsettled = Effect.objects.filter(state__in=[s.value for s in UNSETTLED], run__state__in=ended)
    return list(unsettled.exclude(pk__in=asked).select_related("run")[:BATCH])


def _call_person(effect: Effect) -> None:
    with committing("doubt"):
        run = lock_run(effect.run.ref)
        effect = outcome.locked(effect)
        if effect.state in UNSETTLED:
            sentence = f"{run.ref} is {run.state}, and {effect.key} is still {effect.state}"
            outcome.put_in_doubt(run, effect, Attention.IN_DOUBT, sentence, {})


def _doubts() -> list[Effect]:
    due = Effect.objects.filter(state=EffectState.IN_DOUBT.value, next_look_at__lte=Clock())
    return list(due.select_related("run", "payload").order_by("next_look_at")[:BATCH])


def look_again(effect: Effect) -> None:
    """Ask the vendor once more about an effect in doubt; adopt what is found and matches, else leave it to people."""
    later = max(pause(effect.looks + 1), settings.SWEEP_SECONDS)
    # Put off first: one that can't be looked up, ever, must not stand before all others.
    with stating("looked"):
        Effect.objects.filter(pk=effect.pk).update(looks=effect.looks + 1, next_look_at=Clock() + later)
    plan.agents()  # a sweeper that has driven nothing yet has no tools to ask with
    ask = rounds.ask_of(effect)
    answer = look(effect, ask, effect.run.ref)
    verdict = judge(effect, ask, answer, clock.db_now(), may_send=False)
    with committing("adopt"):
        run = lock_run(effect.run.ref)
        effect = outcome.locked(effect)
        if effect.state != EffectState.IN_DOUBT:
            return
        if isinstance(verdict, Adopt):
            asked = waits.of_effect(effect)
            outcome.apply(
                run, effect, verdict.receipt, vault.open_key(run.pk, run.ref), actor="sweeper", adopted=True
            )
            for wait in asked:
                close_wait(wait, WaitState.RESOLVED, by="sweeper")
            waits.wake(run)
