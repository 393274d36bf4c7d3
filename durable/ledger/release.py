"""Release: the one check that lets an effect out, first time or again, committed with its `sent` event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import F, Q

from durable import clock, draining, journal
from durable.beats import committing
from durable.errors import BudgetExhausted, Conflict, Stopping
from durable.gatekeeper import gatekeeper
from durable.ledger import gating
from durable.ledger.ask import Ask
from durable.ledger.sends import never_left, perhaps_used
from durable.models import Budget, Effect, Run, Stop
from durable.models.fields import Clock
from durable.states import ENDING, EffectState, EventKind
from durable.transitions import Claim, hold_claim, lock_effect, move_effect

#: A request must be over well inside the lease; the rest of it is for writing the outcome down.
_SHARE_OF_LEASE = 0.8


@dataclass(frozen=True, slots=True)
class Sending:
    """Leave to make one request: `allowed` seconds from `since` (on `clock.elapsed`), then never again."""

    since: float
    allowed: float

    def seconds_left(self) -> float:
        """Return how long the whole call may still take; zero or less means that it must not begin."""
        return self.allowed - (clock.elapsed() - self.since)


@dataclass(frozen=True, slots=True)
class Released:
    """What the check said: leave to send, or in words why the approval no longer carries the effect."""

    effect: Effect
    sending: Sending | None = None
    refused: str = ""


def forward_only(run: Run, ask: Ask) -> None:
    """Refuse what may not leave now whatever its approval says: a held run, a stop order, a deadline that is over.

    Raises Stopping or BudgetExhausted. An undo and the settling of what has been sent go on: money and deadline limit
    what a run does, not how it is put right.
    """
    if run.held:
        raise Stopping(f"{run.ref} is held")
    orders = Stop.objects.filter(lifted_at=None).filter(
        Q(scope="all") | Q(scope="agent", name=run.agent) | Q(scope="tool", name=ask.tool.name)
    )
    order = orders.first()
    if order is not None:
        raise Stopping(f"{order}, ordered by {order.actor}", stop=order.pk)
    over = Budget.objects.filter(pk=run.budget_id, deadline__lte=Clock()).exists()
    if over and ask.undo_of is None:
        raise BudgetExhausted("deadline", f"the deadline of {run.ref} is over; no new effect starts")


def release(claim: Claim, effect: Effect, ask: Ask) -> Released:
    """Check everything that must hold at the last moment, under the run's lock, and commit the `sent` event.

    Raises LeaseLost, Stopping, HandingBack or BudgetExhausted; then nothing is written and nothing may be sent.
    """
    with committing("sent"):
        run = hold_claim(claim)
        if run.state in ENDING and ask.undo_of is None:
            raise Stopping(f"{run.ref} is {run.state}")
        forward_only(run, ask)
        effect = lock_effect(run, effect.pk)
        refused = _refused(run, effect, ask)
        if refused:
            return Released(effect, refused=refused)
        sending = send_out(claim, run, effect, ask)
    return Released(effect, sending)


def _refused(run: Run, effect: Effect, ask: Ask) -> str:
    """Say in words why people's yes, or the policy under which nobody was asked, no longer carries this send."""
    if (
        effect.state not in (EffectState.PENDING, EffectState.APPROVED)
        or effect.digest != ask.proposal.digest
    ):
        raise Conflict(f"{effect.key} is {effect.state} in round {effect.round}; it is not to be sent")
    if effect.forgotten_since is not None:
        raise Conflict(f"{effect.key} may have been sent and forgotten; it is looked up before it is sent")
    why_not = gatekeeper().may_release(effect)
    if why_not:
        return why_not
    if effect.approved_round is None and never_left(effect):
        # Nobody was asked when it was recorded; class, policy and what other runs did may ask for people by now.
        gating.serialise(run, effect.once_per)
        needed = gating.requirement(run, ask, older=effect.linked_from)
        if needed is not None:
            return needed.reason
    if effect.approved_round is not None and never_left(effect):
        gating.serialise_once_per(effect.once_per)
        twin = gating.acted_meanwhile(effect)
        if twin is not None:
            return f"{twin.run.ref} has done the same meanwhile: {twin.key} is {twin.state}"
    if effect.approved_round is not None:
        gatekeeper().used(effect)
    return ""


def send_out(claim: Claim, run: Run, effect: Effect, ask: Ask) -> Sending:
    """Write the `sent` event of one request, with the moment by which it must be over. Raises HandingBack."""
    since, limit = clock.elapsed(), within(claim, ask)
    move_effect(
        effect,
        EffectState.PENDING,
        sends=F("sends") + 1,
        open_sends=F("open_sends") + 1,
        # A key that never reached the vendor is as young as if it had not been tried.
        first_sent_at=effect.first_sent_at
        if perhaps_used(run, effect) or not never_left(effect)
        else Clock(),
        last_sent_at=Clock(),
        send_by=Clock() + limit,
        next_look_at=Clock() + limit + ask.facts.in_flight,
    )
    journal.record(
        run,
        EventKind.SENT,
        effect_key=effect.key,
        actor=claim.actor,
        body=sent_body(claim, ask, effect.digest, asking=effect.round, send=effect.sends),
    )
    draining.check(run.ref)
    return Sending(since, limit.total_seconds())


def within(claim: Claim, ask: Ask) -> timedelta:
    """Return how long one request of an effect may take: it must be over well inside the lease."""
    return min(ask.facts.send_within, claim.lease * _SHARE_OF_LEASE)


def sent_body(claim: Claim, ask: Ask, digest: str, *, asking: int, send: int) -> dict[str, Any]:
    """Return the body of a `sent` event: the `send`-th request of an effect, in this round of `asking`."""
    return {
        "attempt": claim.attempt,
        "digest": digest,
        "round": asking,
        "send": send,
        "within_ms": int(within(claim, ask) / timedelta(milliseconds=1)),
    }
