"""Look-ups by the sweeper: what became of requests that no worker is at.

An effect in doubt is asked about again, for as long as people have said nothing: what is found and matches is adopted.
So is a pending one whose run rests at something else (a hold, a deadline, code that is missing) than this effect: its
run would look it up, and may not come to that for weeks, while its key grows old. It is put before a person once
software can't tell any more; nothing is ever sent from here.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from durable import clock, doubts, plan, rounds, vault, waits
from durable.beats import committing, stating
from durable.errors import CannotSay
from durable.ledger import outcome
from durable.models import Effect, Run, Wait
from durable.models.fields import Clock, Moment
from durable.reconcile import LONGEST_ANSWER, Adopt, Doubt, judge, look, pause, shown
from durable.states import Attention, EffectState, RunState, WaitKind, WaitState
from durable.text import quoted
from durable.transitions import close_wait, lock_effect, lock_run
from durable.vendor import Absent, Candidates, LookupAnswer, Receipt

#: Its own run will look again: a timer stands open at the effect's place.
_LOOKED_AFTER = Wait.objects.filter(
    run=OuterRef("run"),
    kind=WaitKind.TIMER.value,
    state=WaitState.OPEN.value,
    **{name: OuterRef(name) for name in ("step", "visit", "ordinal")},
)
_LEFT = Q(
    state=EffectState.PENDING.value,
    open_sends__gt=0,
    run__state=RunState.SUSPENDED.value,
    run__lease_until=None,
    run__due_at=None,
) & ~Exists(_LOOKED_AFTER)


def due() -> QuerySet[Effect]:
    """Effects that may have happened and are to be asked about now, those that have waited longest first."""
    found = Effect.objects.filter(Q(state=EffectState.IN_DOUBT.value) | _LEFT, next_look_at__lte=Moment())
    return found.select_related("run", "payload").order_by("next_look_at", "id")


def looker() -> Callable[[Effect], None]:
    """Look-ups of one sweep: a vendor that can't say is asked no more in it, and what is left is due in the next."""
    silent: set[str] = set()

    def look_unless_silent(effect: Effect) -> None:
        if effect.vendor not in silent and not look_again(effect):
            silent.add(effect.vendor)

    return look_unless_silent


def look_again(effect: Effect) -> bool:
    """Ask the vendor once more about an effect; adopt what is found and matches, else leave it to people or its run.

    Returns False where the vendor could not say.
    """
    later = max(pause(effect.looks + 1), settings.SWEEP_SECONDS)
    # Put off first: one that can't be looked up, ever, must not stand before all others.
    with stating("looked"):
        Effect.objects.filter(pk=effect.pk).update(looks=F("looks") + 1, next_look_at=Clock() + later)
    plan.agents()  # a sweeper that has driven nothing yet has no tools to ask with
    ask = rounds.ask_of(effect)
    answer = look(effect, ask, effect.run.ref)
    # What is pending may be repeated by its run once that goes on: so long nobody has to be asked.
    pending = effect.state == EffectState.PENDING
    verdict = judge(effect, ask, answer, clock.db_now(), may_send=pending)
    if isinstance(verdict, Adopt):
        try:
            _adopt(effect, verdict.receipt)
        except outcome.ReceiptTaken as error:
            sentence = f"The vendor's {quoted(verdict.receipt.id)} matches, but {error}."
            verdict = Doubt(sentence, {"candidates": [shown(verdict.receipt)]})
    if not isinstance(verdict, Adopt):
        _leave(effect, answer, verdict if isinstance(verdict, Doubt) else None)
    return not isinstance(answer, CannotSay)


def _adopt(effect: Effect, receipt: Receipt) -> None:
    """Settle an effect with what the vendor has shown. Raises ReceiptTaken.

    Where somebody has settled it otherwise meanwhile, an alarm says so: money may have moved after a no.
    """
    with committing("adopt"):
        run = lock_run(effect.run.ref)
        effect = lock_effect(run, effect.pk)
        if not _to_be_settled(run, effect):
            outcome.contradict(run, effect, receipt)
            return
        asked = waits.of_effect(effect)
        outcome.apply(run, effect, receipt, vault.open_key(run.pk, run.ref), actor="sweeper", adopted=True)
        for wait in asked:
            close_wait(wait, WaitState.RESOLVED, by="sweeper")
        waits.wake(run)


def _leave(effect: Effect, answer: LookupAnswer | CannotSay | None, doubt: Doubt | None) -> None:
    """Keep what a look-up has said that settles nothing; with a `doubt`, people are asked if they are not yet."""
    with committing("doubt"):
        run = lock_run(effect.run.ref)
        effect = lock_effect(run, effect.pk)
        if not _to_be_settled(run, effect):
            return
        if doubt is not None and effect.state == EffectState.PENDING:
            outcome.put_in_doubt(run, effect, Attention.IN_DOUBT, doubt.sentence, doubt.evidence)
        if effect.state == EffectState.IN_DOUBT:
            doubt = doubt or Doubt("", {})
            doubts.heard(effect, _heard(answer), doubt.evidence, doubt.sentence)


def _to_be_settled(run: Run, effect: Effect) -> bool:
    """Whether a locked effect still stands as `due` says: nobody has answered, and no worker is at it."""
    left = effect.state == EffectState.PENDING and effect.open_sends > 0
    return effect.state == EffectState.IN_DOUBT or (
        left and run.state == RunState.SUSPENDED and run.lease_until is None
    )


def _heard(answer: LookupAnswer | CannotSay | None) -> str:
    """What a look-up that settled nothing has said, in words that people read."""
    if answer is None:
        return "it can't be asked: the tool has no look-up"
    if isinstance(answer, CannotSay):
        return f"it can't say: {quoted(str(answer), LONGEST_ANSWER)}"
    if isinstance(answer, Candidates):
        return f"{len(answer.receipts)} that could be it"
    return "nothing of ours" if isinstance(answer, Absent) else f"{quoted(answer.id)}, which does not match"
