"""On the way to an end: no run ends while one of its effects is pending or in doubt.

A failing or cancelling run sends nothing more. What was never sent is withdrawn, what was sent is looked up
until it is known, and only then the run ends. A compensating run undoes, and ends as compensated or partly
so.
"""

from __future__ import annotations

from django.db import transaction

from durable import answers, claims, compensation, faults, journal, rounds, waits, wakeup
from durable.errors import Suspension, UnknownTool
from durable.journal import ENGINE
from durable.ledger import outcome
from durable.models import Effect, Run
from durable.models.fields import Clock
from durable.reconcile import Doubt, LookAgain, settle
from durable.states import OPEN, AttemptEnd, Attention, EventKind, RunState, WaitKind
from durable.transitions import Claim, hold_claim, move_run
from durable.waits import WaitSpec

_END = {
    RunState.FAILING: (RunState.FAILED, EventKind.RUN_FAILED),
    RunState.CANCELLING: (RunState.CANCELLED, EventKind.CANCELLED),
}


def advance(claim: Claim, run: Run) -> None:
    """Bring an ending run as far as it goes: to its end, or to a Suspension on what is not known yet."""
    if run.state == RunState.COMPENSATING:
        undone = compensation.advance(claim, run)
        whole = all(one.how == "undone" for one in undone)
        to, kind = (
            (RunState.COMPENSATED, EventKind.COMPENSATED)
            if whole
            else (RunState.PARTLY_COMPENSATED, EventKind.PARTLY_COMPENSATED)
        )
        end(claim, to, kind, {"undone": sum(one.how == "undone" for one in undone), "of": len(undone)})
        return
    _withdraw_unsent(claim)
    reasons = [reason for effect in _open_effects(run) for reason in _settle(claim, effect)]
    if reasons:
        raise Suspension(*reasons)
    to, kind = _END[RunState(run.state)]
    end(claim, to, kind, {})


def end(claim: Claim, to: RunState, kind: EventKind, body: dict[str, object]) -> None:
    """End the run: its waits are withdrawn, its event written, its undoing begun where that was asked for."""
    with transaction.atomic(durable=True):
        run = hold_claim(claim)
        waits.withdraw_all(run, by=ENGINE)
        journal.record(run, kind, actor=claim.actor, body=body)
        claims.let_go(run, claim.attempt, AttemptEnd.ENDED)
        move_run(run, to)
        if run.undo_after and to in (RunState.CANCELLED, RunState.FAILED):
            move_run(run, RunState.COMPENSATING, due_at=Clock(), ended_at=None)
            wakeup.announce(run.ref)
        faults.point("end.before_commit")
    faults.point("end.after_commit")


def _withdraw_unsent(claim: Claim) -> None:
    """Take back what never left: nobody is to be asked about it any more."""
    with transaction.atomic(durable=True):
        run = hold_claim(claim)
        for effect in Effect.objects.filter(
            run=run, state__in=[s.value for s in OPEN], open_sends=0
        ).order_by("id"):
            answers.withdraw(run, outcome.locked(effect), actor=ENGINE, words=f"the run is {run.state}")


def _open_effects(run: Run) -> list[Effect]:
    return list(Effect.objects.filter(run=run, state__in=[s.value for s in OPEN]).order_by("id"))


def _settle(claim: Claim, effect: Effect) -> list[object]:
    """Look an open effect up. Returns what must be waited for before it is known, nothing where it is."""
    try:
        ask = rounds.ask_of(effect)
    except UnknownTool as error:
        return [
            WaitSpec(
                WaitKind.ATTENTION,
                Attention.CODE_MISSING.value,
                effect=effect,
                detail={"sentence": str(error)},
            )
        ]
    verdict = settle(claim, effect, ask, may_send=False)
    if isinstance(verdict, LookAgain):
        return [
            WaitSpec(
                WaitKind.TIMER,
                f"look again: {effect.key}",
                effect.step,
                effect.visit,
                effect.ordinal,
                verdict.pause,
            )
        ]
    return list(waits.of_effect(effect)) if isinstance(verdict, Doubt) else []
