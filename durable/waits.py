"""Waits: open, close, deliver. One mechanism for gates, timers, events, holds and attention.

Suspending costs nothing while it lasts: a row with a deadline or a named person, and nobody holding the run.
Closing a wait takes the run's lock first, so that an answer and a suspension can't pass each other unseen:
whoever comes second sees the other.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction

from durable import journal, vault, wakeup
from durable.beats import committing
from durable.errors import Conflict, Invalid
from durable.models import Effect, Run, Signal, Wait
from durable.models.fields import Clock
from durable.models.rows import made
from durable.sql import answer
from durable.states import ENDED, Attention, EventKind, RunState, WaitKind, WaitState
from durable.text import check_json, check_text, mend
from durable.transitions import close_wait, lock_run, lock_wait, move_run
from durable.transitions.lives import WAIT, WAIT_AT

#: Who looks at what is stuck.
OPERATOR = "operator"
REVIEWER = "reviewer"


@dataclass(frozen=True, slots=True)
class WaitSpec:
    """A wait to be: where in the run, why, and until when (`within`, from the moment it opens) or for whom."""

    kind: WaitKind
    name: str
    step: str = ""
    visit: int = 1
    ordinal: int = 0
    within: timedelta | None = None
    waits_for: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    effect: Effect | None = None


def open_wait(run: Run, spec: WaitSpec) -> Wait:
    """Open a wait of a locked run, or return the one that is open already at this place."""
    values = _place(run.pk, spec) | {
        "effect": None if spec.effect is None else spec.effect.pk,
        "waits_for": spec.waits_for,
        "detail": json.dumps(spec.detail),
        "within": spec.within,
    }
    row = answer(WAIT, values)
    assert row is not None
    wait = made(Wait, row)
    wait.run = run
    return wait


def open_attention(
    run: Run,
    reason: Attention,
    sentence: str,
    *,
    effect: Effect | None = None,
    evidence: dict[str, Any] | None = None,
) -> Wait:
    """Put a locked run before a person, with the reason in one sentence. The run is stuck until somebody answers."""
    sentence = mend(sentence)
    # An alarm is about the world, and no step's: what a step must know of the same effect is asked beside it.
    of_step = not (evidence or {}).get("alarm")
    spec = WaitSpec(
        WaitKind.ATTENTION,
        reason.value,
        step=run.step if of_step else "",
        visit=run.visit if of_step else 1,
        waits_for=OPERATOR,
        effect=effect,
        ordinal=effect.pk if effect else 0,
        detail={"sentence": sentence, **(evidence or {})},
    )
    found = at(run.pk, spec)
    if found is not None and found.state == WaitState.OPEN:
        return found
    wait = open_wait(run, spec)
    told = partial(
        journal.record,
        run,
        EventKind.ATTENTION,
        effect_key=effect.key if effect else "",
        body={"reason": reason.value},
    )
    try:
        told(words=sentence)
    except (vault.Erased, vault.Tampered):
        told()  # a run whose key is gone or does not open needs a person no less
    return wait


def wake(run: Run) -> None:
    """Queue a locked, suspended run and tell the workers after the commit.

    Not while an operator holds it, nor while it is stuck: an answer to something else is kept until a person has
    acted. A hold stops a run on its way forward; on its way to an end nothing new leaves anyhow.
    """
    if run.state == RunState.SUSPENDED:
        if run.held or _stuck(run):
            return
        move_run(run, RunState.QUEUED)
        wakeup.announce(run.ref)
    elif run.state not in ENDED and run.lease_until is None:
        Run.objects.filter(pk=run.pk).update(due_at=Clock())
        wakeup.announce(run.ref)


_STUCK = """
SELECT FROM durable_wait WHERE run_id = %(run)s AND kind = 'attention' AND state = 'open' AND effect_id IS NULL LIMIT 1
"""


def _stuck(run: Run) -> bool:
    return answer(_STUCK, {"run": run.pk}) is not None


def resolve(run: Run, wait: Wait, *, by: str, answer: Any = None, to: WaitState = WaitState.RESOLVED) -> bool:
    """Close an open wait of a locked run and wake the run. False means that something else had closed it before."""
    if not close_wait(wait, to, by=by, answer=answer):
        return False
    wake(run)
    return True


def open_waits(run: Run, kind: WaitKind | None = None) -> list[Wait]:
    """Return the run's open waits, oldest first."""
    found = Wait.objects.filter(run=run, state=WaitState.OPEN.value)
    if kind is not None:
        found = found.filter(kind=kind.value)
    return list(found.order_by("id"))


def at(run_id: int, spec: WaitSpec) -> Wait | None:
    """Return the wait at a spec's place, open or over: a re-executed step finds its own again."""
    row = answer(WAIT_AT, _place(run_id, spec))
    return None if row is None else made(Wait, row)


def _place(run_id: int, spec: WaitSpec) -> dict[str, Any]:
    return {
        "run": run_id,
        "kind": spec.kind.value,
        "name": spec.name,
        "step": spec.step,
        "visit": spec.visit,
        "ordinal": spec.ordinal,
    }


def of_effect(effect: Effect) -> list[Wait]:
    """Return the open waits that are about an effect."""
    return list(Wait.objects.filter(effect_id=effect.pk, state=WaitState.OPEN.value).order_by("id"))


def is_alarm(wait: Wait) -> bool:
    """Whether a wait says something about the world that no end, skip or command of its run makes untrue."""
    return bool(wait.detail.get("alarm"))


def deliver(run_ref: str, name: str, payload: Any, *, dedupe: str) -> bool:
    """Hand an outside event to a run; it is kept until a wait of that name consumes it.

    `dedupe` is the sender's id of the event: a repeated delivery changes nothing and returns False. Raises NotFound,
    Invalid, or Conflict for a run that has ended.
    """
    check_text(name, "name")
    check_text(dedupe, "dedupe")
    check_json(payload, "payload")
    if not name or not dedupe:
        raise Invalid("name" if not name else "dedupe", "must not be empty")
    with committing("event"):
        run = lock_run(run_ref)
        if run.state in ENDED:
            raise Conflict(f"{run_ref} is {run.state}; it waits for nothing any more")
        try:
            with transaction.atomic():
                signal = Signal.objects.create(run=run, name=name, dedupe=dedupe, payload=payload)
        except IntegrityError:
            return False
        wait = Wait.objects.filter(
            run=run, kind=WaitKind.EVENT.value, name=name, state=WaitState.OPEN.value
        ).first()
        if wait is not None:
            consume(run, wait, signal)
    return True


def consume(run: Run, wait: Wait, signal: Signal) -> None:
    """Let a wait of a locked run take the event that came for it."""
    if resolve(run, wait, by="event", answer=signal.payload):
        Signal.objects.filter(pk=signal.pk).update(consumed_by=wait)


def waiting_signal(run: Run, name: str) -> Signal | None:
    """Return the oldest event of that name that nothing has consumed yet."""
    return Signal.objects.filter(run=run, name=name, consumed_by=None).order_by("id").first()


def get_open(run: Run, wait_id: int) -> Wait:
    """Lock and return an open wait of a locked run. Raises NotFound, or Conflict naming who closed it."""
    wait = lock_wait(run, wait_id)
    if wait.state != WaitState.OPEN:
        raise Conflict(f"already {wait.state} by {wait.closed_by}")
    return wait
