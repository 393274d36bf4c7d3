"""Starting a run, and the commands that stop, release and cancel one. Each names who gave it and why.

Every command takes the run's lock, checks what it believes, writes its event and the change in one commit,
and wakes the workers afterwards. Bad input changes nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from typing import Any

from django.conf import settings
from django.db import IntegrityError

from durable import plan, standing, vault, waits, wakeup
from durable.beats import committing, stating
from durable.digest import canonical, digest
from durable.errors import Conflict, Invalid
from durable.journal import one_line, record
from durable.models import Run, SealKey, Wait
from durable.models.fields import Clock
from durable.models.rows import made
from durable.sql import answer
from durable.states import ENDED, Durability, EventKind, RunState, WaitKind, WaitState
from durable.text import check_text
from durable.transitions import close_wait, lock_run, move_run
from durable.transitions.lives import START
from durable.waits import OPERATOR, WaitSpec

KEY_LIMIT = 255
_REASON_LIMIT = 2_000
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_ref() -> str:
    """Return a run id that is never issued twice, not even by another database: milliseconds, and 40 bits of chance."""
    return ref_of(time.time_ns() // 1_000_000, secrets.randbits(40))


def ref_of(milliseconds: int, chance: int) -> str:
    """Return the run id of a moment (milliseconds since 1970) and 40 bits of chance. Later ones sort after it."""
    number = milliseconds << 40 | chance
    digits = ""
    for _ in range(18):
        number, digit = divmod(number, 32)
        digits = _ALPHABET[digit] + digits
    return f"run-{digits.lstrip('0')}"


def start(
    agent: str,
    input: Any,
    *,
    actor: str,
    key: str | None = None,
    durability: Durability | None = None,
    ref: str | None = None,
) -> Run:
    """Start a run of `agent` with `input` (plain JSON), for `actor`; returns it queued, durably.

    `key` makes a doubled start one run: the second call returns the first one's run, or raises Conflict where
    agent or input differ. Raises UnknownAgent or Invalid, naming field and rule; then nothing is written.
    """
    found = plan.get(agent)
    payload = found.check_input(input)
    input_digest = digest({"agent": agent, "input": payload}, "input")
    check_actor(actor)
    if key is not None:
        check_key(key)
    mode = found.durability if durability is None else check_mode(durability)
    run = None
    try:
        with stating("start"):
            run = _create(found, payload, input_digest, actor, key, mode, ref or new_ref())
    except IntegrityError:
        if key is None or not Run.objects.filter(start_key__in=_keys(key)).exists():
            raise
    if run is None:
        return _started(key, input_digest)
    wakeup.announce(run.ref)
    return run


def check_key(key: str) -> None:
    """Refuse a start key that is empty, too long, or no clean text."""
    if not isinstance(key, str):
        raise Invalid("key", f"must be text, not {type(key).__name__}")
    check_text(key, "key")
    if not 0 < len(key) <= KEY_LIMIT:
        raise Invalid("key", f"must have 1 to {KEY_LIMIT} characters, not {len(key)}")


def erased_key(key: str) -> str:
    """What stands in a run in place of its start key once it is erased: the same key still finds the same run."""
    mac = hmac.digest(settings.INTERLOCK_HASH_KEY, b"interlock start key " + key.encode(), hashlib.sha256)
    return f"erased:{mac.hex()}"


def _keys(key: str) -> list[str]:
    return [key, erased_key(key)]


def check_mode(mode: str) -> Durability:
    """Return a durability mode by its name. Raises Invalid."""
    try:
        return Durability(mode)
    except ValueError:
        raise Invalid("durability", f"must be one of {', '.join(Durability)}") from None


def check_actor(actor: str, reason: str | None = None) -> None:
    """Refuse an act without a name or, where one is due, without a reason."""
    check_text(actor, "actor")
    if not actor.strip():
        raise Invalid("actor", "say who acts")
    if reason is None:
        return
    check_text(reason, "reason")
    if not reason.strip():
        raise Invalid("reason", "say why; it goes into the ledger")
    if len(reason) > _REASON_LIMIT:
        raise Invalid("reason", f"must have at most {_REASON_LIMIT} characters, not {len(reason)}")


def _started(key: str | None, input_digest: str) -> Run:
    """Return the run that `key` has started before, or at this very moment. Raises Conflict where it is another one."""
    assert key is not None
    run = Run.objects.get(start_key__in=_keys(key))
    if run.input_digest != input_digest:
        raise Conflict(
            f"key: {key} has started {run.ref} with another agent or input; use a new key for new work"
        )
    return run


def _create(
    agent: type[plan.Agent],
    payload: Any,
    input_digest: str,
    actor: str,
    key: str | None,
    mode: Durability,
    ref: str,
) -> Run | None:
    """Write a run with its budget, conversation, seal key, first checkpoint and first event: one statement.

    None where the key has started a run before. Raises IntegrityError where it does so at this very moment.
    """
    limits = agent.budget
    values: dict[str, Any] = {
        "steps": limits.steps,
        "tokens": limits.tokens,
        "within": limits.deadline,
        "currencies": [money.currency for money in limits.purses],
        "limits": [money.minor for money in limits.purses],
        "ref": ref,
        "agent": agent.name,
        "start_key": key,
        "erased_key": None if key is None else erased_key(key),
        "input": json.dumps(payload),
        "digest": input_digest,
        "actor": actor,
        "durability": mode.value,
        "step": agent.first().name,
        "wrapped": vault.new_key(ref)[1],
        "teller": one_line(actor),
        "body": canonical({"agent": agent.name, "input": input_digest}).decode(),
    }
    row = answer(START, values)
    return None if row is None else made(Run, row)


def hold(run_ref: str, *, actor: str, reason: str, seen: str | None = None) -> None:
    """Stop a run where it stands: nothing more leaves, until somebody releases it. Raises Conflict for an ended run.

    `seen`, here and below, is the part of `standing` that the person saw; where it has changed, Moved is raised.
    """
    check_actor(actor, reason)
    with committing("command"):
        run = lock_run(run_ref)
        if run.held:
            raise Conflict(f"{run_ref} is held already")
        if run.state not in (RunState.QUEUED, RunState.RUNNING, RunState.SUSPENDED):
            raise Conflict(f"{run_ref} is {run.state}; only a run on its way forward can be held")
        standing.check(run, seen, "stop")
        Run.objects.filter(pk=run.pk).update(held=True)
        waits.open_wait(run, WaitSpec(WaitKind.HOLD, "hold", waits_for=OPERATOR, detail={"by": actor}))
        record(run, EventKind.HELD, actor=actor, words=reason, body=moved(run, held=True))
        if run.state == RunState.QUEUED:
            move_run(run, RunState.SUSPENDED)


def release(run_ref: str, *, actor: str, reason: str, seen: str | None = None) -> None:
    """Let a held run go on from where it stands. Raises Conflict where a fork goes on in its place."""
    check_actor(actor, reason)
    with committing("command"):
        run = lock_run(run_ref)
        if not run.held:
            raise Conflict(f"{run_ref} is not held")
        refuse_beside_fork(run)
        standing.check(run, seen)
        told = moved(run, held=False)
        unhold(run, by=actor)
        record(run, EventKind.RELEASED, actor=actor, words=reason, body=told)
        waits.wake(run)  # not where it is stuck: then it goes on waiting for a person


def moved(run: Run, **after: Any) -> dict[str, Any]:
    """How a run stands and how it will, in these columns, for an operator's event."""
    return {"before": {name: getattr(run, name) for name in after}, "after": after}


def refuse_erased(run: Run) -> None:
    """Refuse to let a run act again whose personal data is no longer kept: it does not know for whom."""
    if not SealKey.objects.filter(run=run, destroyed_at=None).exists():
        raise Conflict(
            f"the personal data of {run.ref} has been erased, or went by the retention policy; it can't act again"
        )


def refuse_beside_fork(run: Run) -> None:
    """Refuse to let a locked run go on where a fork of it does, or did, what it would do: both would act."""
    void = [RunState.CANCELLED.value, RunState.COMPENSATED.value]
    fork = run.forks.exclude(state__in=void).order_by("id").first()
    if fork is not None:
        raise Conflict(
            f"{fork.ref} was forked from {run.ref} and goes on in its place; cancel one of the two"
        )


def unhold(run: Run, *, by: str) -> None:
    """End an operator's hold of a locked run."""
    Run.objects.filter(pk=run.pk).update(held=False)
    run.held = False
    for wait in Wait.objects.filter(run=run, kind=WaitKind.HOLD.value, state=WaitState.OPEN.value):
        close_wait(wait, WaitState.RESOLVED, by=by)


def cancel(run_ref: str, *, actor: str, reason: str, undo: bool = False, seen: str | None = None) -> None:
    """Stop a run for good: no new intent after this commit; what is under way is settled first, then, with
    `undo`, undone.
    """
    check_actor(actor, reason)
    with committing("command"):
        run = lock_run(run_ref)
        if run.state in ENDED or run.state in (RunState.CANCELLING, RunState.COMPENSATING):
            raise Conflict(f"{run_ref} is {run.state} already")
        standing.check(run, seen, "done")
        told = {"undo": undo, **moved(run, state=RunState.CANCELLING.value)}
        record(run, EventKind.CANCEL_ASKED, actor=actor, words=reason, body=told)
        to_cancelling(run, undo=undo, by=actor)


def to_cancelling(run: Run, *, undo: bool, by: str) -> None:
    """Turn a locked run towards its end; a worker settles what is open."""
    unhold(run, by=by)
    held_by_worker = run.lease_until is not None
    move_run(run, RunState.CANCELLING, undo_after=undo, due_at=None if held_by_worker else Clock())
    wakeup.announce(run.ref)


def compensate(run_ref: str, *, actor: str, reason: str, seen: str | None = None) -> None:
    """Undo what an ended run has applied, in reverse order. Raises Conflict for a run that goes on, or was undone."""
    check_actor(actor, reason)
    with committing("command"):
        run = lock_run(run_ref)
        if run.state not in (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED):
            raise Conflict(
                f"{run_ref} is {run.state}; only a run that has ended can be compensated (cancel it first)"
            )
        refuse_erased(run)
        standing.check(run, seen)
        told = moved(run, state=RunState.COMPENSATING.value)
        record(run, EventKind.COMPENSATION_ASKED, actor=actor, words=reason, body=told)
        move_run(run, RunState.COMPENSATING, due_at=Clock())
        wakeup.announce(run.ref)
