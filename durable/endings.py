"""On the way to an end: no run ends while one of its effects is pending or in doubt.

A failing or cancelling run sends nothing more. What was never sent is withdrawn, what was sent is looked up
until it is known, and only then the run ends. A compensating run undoes, and ends as compensated or partly
so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from durable import answers, compensation, forgotten, journal, rounds, vault, waits, wakeup
from durable.beats import committing
from durable.compensation import Undone
from durable.digest import canonical
from durable.errors import Conflict, Invalid, Stopping, Suspension, UnknownTool
from durable.journal import ENGINE
from durable.ledger import outcome
from durable.models import Effect, Run
from durable.models.fields import Clock
from durable.reconcile import Doubt, LookAgain, Verdict, settle
from durable.sql import answer
from durable.states import OPEN, RUN_MOVES, AttemptEnd, Attention, EventKind, RunState, WaitKind
from durable.text import quoted
from durable.transitions import Claim, hold_claim, lock_effect, move_run
from durable.transitions.lives import CLOSE
from durable.waits import OPERATOR, WaitSpec

_LONGEST_WHY = 300
#: Workers that may be lost over an ending run before a person is asked.
MOST_CRASHES = 5

_END = {
    RunState.FAILING: (RunState.FAILED, EventKind.RUN_FAILED),
    RunState.CANCELLING: (RunState.CANCELLED, EventKind.CANCELLED),
}


def advance(claim: Claim, run: Run) -> None:
    """Bring an ending run as far as it goes: to its end, or to a Suspension on what is not known yet.

    One that kills its workers is put before a person, like a step that does.
    """
    if run.crashes > MOST_CRASHES:
        sentence = (
            f"bringing {run.ref} to its end has cost {run.crashes} workers; it is not tried again by itself"
        )
        raise Suspension(
            WaitSpec(
                WaitKind.ATTENTION,
                Attention.CRASH_LOOP.value,
                waits_for=OPERATOR,
                detail={"sentence": sentence},
            )
        )
    if run.state == RunState.COMPENSATING:
        try:
            _undone(claim, compensation.advance(claim, run))
        except Stopping as stopping:
            detail = {"stop": stopping.stop}
            raise Suspension(
                WaitSpec(WaitKind.HOLD, str(stopping), waits_for=OPERATOR, detail=detail)
            ) from stopping
        return
    _withdraw_unsent(claim)
    reasons = [reason for effect in _open_effects(run) for reason in _settle(claim, effect)]
    if reasons:
        raise Suspension(*reasons)
    _end(claim)


def _undone(claim: Claim, undone: list[Undone]) -> None:
    """End a compensating run. Undos that failed stay before a person, whatever else has become of the run."""
    whole = all(one.how == "undone" for one in undone)
    to = RunState.COMPENSATED if whole else RunState.PARTLY_COMPENSATED
    kind = EventKind.COMPENSATED if whole else EventKind.PARTLY_COMPENSATED
    body = {"undone": sum(one.how == "undone" for one in undone), "of": len(undone)}
    with committing("end"):
        run = hold_claim(claim)
        for one in undone:
            if one.how != "undone":
                how = {"how": one.how}
                journal.record(
                    run, EventKind.NOT_UNDOABLE, effect_key=one.effect.key, actor=claim.actor, body=how
                )
        _close(claim, run, to, kind, body)
        for one in undone:
            if one.how == "failed":
                sentence = f"{one.effect.key} could not be undone: {quoted(one.why, _LONGEST_WHY)}"
                detail = {"alarm": True}
                waits.open_attention(run, Attention.UNDO_FAILED, sentence, effect=one.effect, evidence=detail)


def _end(claim: Claim) -> None:
    """End a failing or cancelling run, and begin its undoing where that was asked for."""
    with committing("end"):
        run = hold_claim(claim)
        to, kind = _END[RunState(run.state)]
        _close(claim, run, to, kind, {})
        if run.undo_after:
            move_run(run, RunState.COMPENSATING, due_at=Clock(), ended_at=None)
            wakeup.announce(run.ref)


def _close(claim: Claim, run: Run, to: RunState, kind: EventKind, body: Mapping[str, object]) -> None:
    """Withdraw a locked run's waits, bill what it has reserved, note its end, and let it go."""
    values: dict[str, Any] = {
        **claim.token,
        "from": run.state,
        "to": to.value,
        "steps": 0,
        "how": AttemptEnd.ENDED.value,
        "event": kind.value,
        "teller": journal.one_line(claim.actor),
        "body": canonical(body).decode(),
    }
    if to not in RUN_MOVES[RunState(run.state)]:
        raise Conflict(f"{run.ref} is {run.state}; it cannot become {to}")
    row = answer(CLOSE, values)
    assert row is not None
    run.state = to.value


def _withdraw_unsent(claim: Claim) -> None:
    """Take back what never left: nobody is to be asked about it any more."""
    with committing("withdraw"):
        run = hold_claim(claim)
        for effect in Effect.objects.filter(
            run=run, state__in=[s.value for s in OPEN], open_sends=0, forgotten_since=None
        ).order_by("id"):
            answers.withdraw(run, lock_effect(run, effect.pk), actor=ENGINE, words=f"the run is {run.state}")


def _open_effects(run: Run) -> list[Effect]:
    return list(Effect.objects.filter(run=run, state__in=[s.value for s in OPEN]).order_by("id"))


def _settle(claim: Claim, effect: Effect) -> list[object]:
    """Look an open effect up. Returns what must be waited for before it is known, nothing where it is."""
    try:
        ask = rounds.ask_of(effect)
    except (UnknownTool, Invalid, vault.Erased, vault.Tampered) as error:
        # In doubt, so that people's verdicts and, once the code is back, the sweeper's look-up reach it.
        asked = outcome.doubt(claim, effect, Attention.CODE_MISSING, str(error), {})
        return [] if asked is None else [asked]
    verdict: Verdict | forgotten.Nothing
    if effect.forgotten_since is None:
        verdict = settle(claim, effect, ask, may_send=False)
    else:
        verdict = forgotten.settle(claim, effect, ask)
    if isinstance(verdict, forgotten.Nothing):
        _withdraw_unsent(claim)
        effect.refresh_from_db()
        return _settle(claim, effect) if effect.state in OPEN else []
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
