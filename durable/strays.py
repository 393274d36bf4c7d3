"""Pairs that must not be: an end with something still open, a gate that nothing waits for, something nobody waits for.

No commit of the engine leaves one behind: run, wait, effect and gate change together. A restored table, a hand in the
database or a fault of ours may. Each has one safe way out, which the sweeper takes and the ledger tells: at most people
are asked once more. What has none is put before a person.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from durable import answers, rounds, vault, waits
from durable.beats import committing
from durable.errors import Invalid, UnknownTool
from durable.journal import ENGINE
from durable.ledger import outcome
from durable.models import Effect, Run, Wait
from durable.states import ENDED, ENDING, UNSETTLED, Attention, EffectState, RunState, WaitKind, WaitState
from durable.transitions import close_wait, lock_effect, lock_run

_ENDED = [state.value for state in ENDED]
_AT_REST = [state.value for state in (RunState.SUSPENDED, *ENDING)]
_TO_STOP = [RunState.FAILING.value, RunState.CANCELLING.value]
_OPEN = Wait.objects.filter(state=WaitState.OPEN.value)
_ALARM = Q(detail__contains={"alarm": True})
_GATES = _OPEN.filter(kind=WaitKind.GATE.value)


def unsettled() -> QuerySet[Effect]:
    """Pending effects, or such in doubt, that nobody is asked about, of runs that have ended."""
    asked = Exists(_OPEN.filter(effect=OuterRef("pk")))
    states = [state.value for state in UNSETTLED]
    return _effects(Effect.objects.filter(~asked, state__in=states, run__state__in=_ENDED))


def call_person(effect: Effect) -> None:
    """Put an unsettled effect of an ended run before a person."""
    with committing("doubt"):
        run = lock_run(effect.run.ref)
        effect = lock_effect(run, effect.pk)
        if effect.state in UNSETTLED:
            sentence = f"{run.ref} is {run.state}, and {effect.key} is still {effect.state}"
            outcome.put_in_doubt(run, effect, Attention.IN_DOUBT, sentence, {})


def undecided() -> QuerySet[Effect]:
    """Effects that wait for people, or for their release, of runs that have ended."""
    states = [EffectState.GATED.value, EffectState.APPROVED.value]
    return _effects(Effect.objects.filter(state__in=states, run__state__in=_ENDED))


def take_back(effect: Effect) -> None:
    """Withdraw what an ended run still proposes, gate and reservation included: it will never ask for it again."""
    with committing("withdraw"):
        run = lock_run(effect.run.ref)
        effect = lock_effect(run, effect.pk)
        if run.state in ENDED and effect.state in (EffectState.GATED, EffectState.APPROVED):
            answers.withdraw(run, effect, actor=ENGINE, words=f"the run is {run.state}")


def unasked() -> QuerySet[Effect]:
    """Gated effects of runs under way that no open gate asks people about."""
    asked = Exists(_GATES.filter(effect=OuterRef("pk")))
    under_way = Effect.objects.filter(~asked, state=EffectState.GATED.value).exclude(run__state__in=_ENDED)
    # One that is about to be withdrawn, or whose worker is at it, needs nobody's help.
    return _effects(under_way.filter(run__lease_until=None).exclude(run__state__in=_TO_STOP))


def ask_anew(effect: Effect) -> None:
    """Open a new round about the same payload. Where it can't be read any more, a person is told instead."""
    with committing("round"):
        run = lock_run(effect.run.ref)
        effect = lock_effect(run, effect.pk)
        if effect.state != EffectState.GATED or _GATES.filter(effect=effect).exists():
            return
        try:
            rounds.again(run, effect, actor=ENGINE, words="its gate was lost", why="its gate was lost")
        except (UnknownTool, Invalid, vault.Erased, vault.Tampered) as error:
            sentence = (
                f"nobody is asked about {effect.key} any more, and it can't be asked about anew: {error}"
            )
            waits.open_attention(run, Attention.CODE_MISSING, sentence, effect=effect)


def idle() -> QuerySet[Wait]:
    """Open waits that nothing waits at: of runs that have ended, or at a gate that is answered already.

    What people look at stays, whether an alarm or an effect in doubt: that is true of the world, whatever the run does.
    """
    people = Q(kind=WaitKind.ATTENTION.value) & (_ALARM | Q(effect__isnull=False))
    ended = Q(run__state__in=_ENDED) & ~people
    answered = Q(kind=WaitKind.GATE.value, effect__isnull=False) & ~Q(effect__state=EffectState.GATED.value)
    return _OPEN.filter(ended | answered).select_related("run").order_by("id")


def close(wait: Wait) -> None:
    """Withdraw a wait that nothing waits at, and let its run go on if it was at rest over it."""
    with committing("wake"):
        run = lock_run(wait.run.ref)
        if idle().filter(pk=wait.pk).exists() and close_wait(wait, WaitState.WITHDRAWN, by=ENGINE):
            waits.wake(run)


def lonely() -> QuerySet[Run]:
    """Runs at rest, on their way forward or to an end, with nothing open that could ever wake them. An alarm can't."""
    waiting = Exists(_OPEN.filter(~_ALARM, run=OuterRef("pk")))
    at_rest = Run.objects.filter(held=False, lease_until=None, due_at=None, state__in=_AT_REST)
    return at_rest.filter(~waiting).order_by("changed_at", "id")


def wake(run: Run) -> None:
    """Let a run go on that has nothing to wait for."""
    with committing("wake"):
        run = lock_run(run.ref)
        if all(waits.is_alarm(wait) for wait in waits.open_waits(run)):
            waits.wake(run)


def _effects(found: QuerySet[Effect]) -> QuerySet[Effect]:
    return found.select_related("run").order_by("id")
