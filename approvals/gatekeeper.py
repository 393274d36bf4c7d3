"""The console's side of `durable.gatekeeper`: who must be asked, and whether their yes still holds.

What changes a gate runs inside the engine's transaction under the run's lock. Whatever goes wrong here keeps an effect
in.
"""

from __future__ import annotations

import logging
from contextlib import nullcontext

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from approvals import access, policy
from approvals.capabilities import Capability
from approvals.models import Decision, Gate
from approvals.states import LIVE_VALUES, GateState, Verdict
from durable.clock import db_now
from durable.errors import Conflict
from durable.gatekeeper import Question, Requirement
from durable.models import Effect, Wait
from durable.models.fields import Clock
from durable.states import EffectState

log = logging.getLogger(__name__)

_UNREADABLE = "the policy could not be read, so a person must look"


class Gatekeeper:
    """Named by `settings.INTERLOCK_GATEKEEPER`."""

    def requirement(self, question: Question) -> Requirement | None:
        """Return what policy demands, or None. A rule that fails demands a gate."""
        try:
            # A failed query must not take the engine's transaction with it, where there is one.
            with transaction.atomic() if connection.in_atomic_block else nullcontext():
                asked = policy.demand(question)
        except Exception as error:
            log.error("a policy rule failed for %s: %s", question.tool, type(error).__name__)
            return self.for_class(question, _UNREADABLE)
        return None if asked is None else self.for_class(question, asked.reason)

    def for_class(self, question: Question, reason: str) -> Requirement:
        """Return the installation's clocks, for a gate that is there because of `reason`."""
        return Requirement(reason, settings.GATE_DECIDE_SECONDS, settings.GATE_ACT_SECONDS)

    def open(self, wait: Wait, effect: Effect, requirement: Requirement) -> None:
        """Open the gate of the effect's current round. The wait's deadline is the gate's decide-by."""
        Gate.objects.create(
            wait=wait,
            effect=effect,
            round=effect.round,
            digest=effect.digest,
            payload_id=effect.payload_id,
            reason=requirement.reason,
            decide_by=wait.deadline or Clock() + requirement.decide_within,
            act_within=requirement.act_within,
        )

    def may_release(self, effect: Effect) -> str | None:
        """Return None where the approval of the current round still holds, else why not, in words.

        Raises OperationalError or InterfaceError where the database could not be asked: nothing is released then.
        """
        try:
            with transaction.atomic():
                return _why_not(effect)
        except (OperationalError, InterfaceError):
            raise  # the database is away or busy, which says nothing about the approval: the attempt is repeated
        except Exception as error:
            log.error("the release of %s could not be checked: %s", effect.key, type(error).__name__)
            return "the approval could not be checked"

    def used(self, effect: Effect) -> None:
        """Mark the approval as used, once: a repeat under the same key changes nothing. Raises Conflict without one."""
        approved = Gate.objects.filter(effect=effect, round=effect.round, state=GateState.APPROVED.value)
        if not approved.filter(used_at=None).update(used_at=Clock()) and not approved.exists():
            raise Conflict(f"{effect.key} has no approval in round {effect.round}")

    def close(self, effect: Effect, how: str) -> None:
        """End the effect's gate without an answer, or set its unused approval aside. Who approved stays on record."""
        over = GateState(how)
        if over not in (GateState.EXPIRED, GateState.WITHDRAWN, GateState.SUPERSEDED):
            raise ValueError(f"a gate is not closed as {how}")
        Gate.objects.filter(
            effect=effect, state__in=[*LIVE_VALUES, GateState.APPROVED.value], used_at=None
        ).update(state=over.value, closed_at=Clock())


def _why_not(effect: Effect) -> str | None:
    if effect.state == EffectState.PENDING and effect.approved_round is None:
        return _policy_against(effect)  # nobody had to be asked, so nobody's yes can have lapsed
    gate = Gate.objects.select_for_update().filter(effect=effect, round=effect.round).first()
    if gate is None:
        return f"nobody was asked about round {effect.round}"
    gate.effect = effect
    if gate.state != GateState.APPROVED:
        return f"its gate is {gate.state}"
    if gate.digest != effect.digest:
        return "the approval was for another payload"
    # Act-by is for the first send; a repeat under the same key uses nothing anew.
    if gate.used_at is None and (gate.act_by is None or db_now() > gate.act_by):
        return "the approval was not used in time"
    return _approvers_gone(gate) or _policy_against(effect)


def _approvers_gone(gate: Gate) -> str | None:
    """Why those who said yes could not say it now, or None."""
    decisions = list(
        Decision.objects.filter(gate=gate, verdict=Verdict.APPROVE.value).select_related("person")
    )
    if len({d.person_id for d in decisions}) < gate.needed:
        return f"it has {len(decisions)} of {gate.needed} approvals"
    for decision in decisions:
        if decision.digest != gate.digest:
            return "an approval was for another payload"
        if Capability.DECIDE not in access.capabilities(decision.person):
            return f"{decision.person.get_username()}, who approved it, may no longer decide"
        if had := access.stake(decision.person, gate):
            return f"{decision.person.get_username()}, who approved it, {had}"
    return None


def _policy_against(effect: Effect) -> str | None:
    asked = policy.demand(policy.question_of(effect))
    if asked is not None and asked.refuses:
        return f"policy changed since this was approved: {asked.reason}"
    return None
