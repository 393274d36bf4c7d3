"""The one request that a `sent` event allows, and what its answer means for the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from durable.adapters import wire
from durable.beats import asking
from durable.errors import InDoubt, LeaseLost, NotSent, Suspension, VendorRefused
from durable.ledger import Ask, Sending, outcome
from durable.models import Effect
from durable.reconcile import call_of, checked, mismatch, pause, shown
from durable.states import Attention, WaitKind
from durable.transitions import Claim
from durable.vendor import Receipt
from durable.waits import WaitSpec

#: A pause up to this long is slept through, a longer one suspends the run.
SHORT = timedelta(seconds=1)
#: Seconds between tries to write an answer down while the database is away.
_AGAIN_AFTER = (0.2, 0.5, 1.0)
Written = TypeVar("Written")
#: A vendor that asks for more patience than this is asked again all the same.
LONGEST_WAIT = timedelta(hours=1)


def send(claim: Claim, effect: Effect, ask: Ask, sending: Sending) -> Effect:
    """Make the one request that a `sent` event allows, and record its answer. No transaction is open meanwhile."""
    receipt: Receipt | None = None
    try:
        with asking("vendor"):
            left = sending.seconds_left()
            if left > 0:
                # The wire looks once more, just before the first byte: the tool's own code may sleep meanwhile.
                with claim.within(left), wire.within(left):
                    receipt = checked(ask.send(call_of(effect, ask, claim.run_ref, left)))
    except NotSent as error:
        effect = outcome.not_sent(claim, effect, str(error))
        later = error.retry_after or max(pause(effect.sends), timedelta(milliseconds=100))
        wait_for(effect, min(later, LONGEST_WAIT), "vendor away")
        return effect
    except VendorRefused as error:
        refusal = error
        return _guarded(
            claim, effect, None, lambda: outcome.failed(claim, effect, refusal.code, refusal.message)
        )
    except Exception as error:
        saved = isinstance(error, InDoubt) and error.saved
        words = f"{type(error).__name__}: {error}"
        return _guarded(claim, effect, None, lambda: outcome.no_answer(claim, effect, words, saved=saved))
    if receipt is None:
        return outcome.not_sent(claim, effect, "the time to send had passed before the request began")
    answer = receipt
    return _guarded(claim, effect, answer, lambda: _accept(claim, effect, ask, answer))


def _accept(claim: Claim, effect: Effect, ask: Ask, receipt: Receipt) -> Effect:
    """Take the vendor's direct answer, which must name what was asked for; else a person must look."""
    wrong = mismatch(ask, receipt, effect.key)
    if not wrong:
        try:
            return outcome.applied(claim, effect, receipt)
        except outcome.ReceiptTaken as error:
            wrong = str(error)
    outcome.doubt(
        claim,
        effect,
        Attention.IN_DOUBT,
        f"The vendor answered with {receipt.id}, but {wrong}.",
        {"candidates": [shown(receipt)]},
    )
    effect.refresh_from_db()
    return effect


def _guarded(claim: Claim, effect: Effect, receipt: Receipt | None, write: Callable[[], Effect]) -> Effect:
    """Write an answer down; without the lease it becomes a `late answer`, which changes no state."""
    try:
        return _persistently(write)
    except LeaseLost:
        words = "the request got no usable answer"
        _persistently(lambda: outcome.late(claim.run_ref, effect.key, claim.actor, receipt, words))
        raise


def _persistently(write: Callable[[], Written]) -> Written:
    """Write what is known, over a new connection where the old one broke: the answer in hand is the only proof."""
    for later in _AGAIN_AFTER:
        try:
            return write()
        except (OperationalError, InterfaceError):
            connection.close()
            time.sleep(later)
    return write()


def wait_for(effect: Effect, later: timedelta, why: str) -> None:
    """Let `later` pass: a short pause in place, a longer one as a timer that costs nothing."""
    if later <= SHORT:
        time.sleep(max(later.total_seconds(), 0.0))
        return
    raise Suspension(
        WaitSpec(WaitKind.TIMER, f"{why}: {effect.key}", effect.step, effect.visit, effect.ordinal, later)
    )
