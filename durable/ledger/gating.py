"""Must people be asked first? The one place where class, policy, kinship and earlier acts decide that."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet

from durable.gatekeeper import Question, Requirement, gatekeeper
from durable.ledger.ask import Ask
from durable.ledger.places import Place, done_before, inherited, of_kin
from durable.models import Effect, Run, Wait
from durable.states import EffectClass, EffectState, WaitKind

_ACTS = [
    s.value
    for s in (
        EffectState.GATED,
        EffectState.APPROVED,
        EffectState.PENDING,
        EffectState.IN_DOUBT,
        EffectState.APPLIED,
    )
]
_MAY_HAVE_ACTED = [s.value for s in (EffectState.PENDING, EffectState.IN_DOUBT, EffectState.APPLIED)]


def question(run: Run, ask: Ask) -> Question:
    """Return the ask as a policy sees it."""
    proposal = ask.proposal
    return Question(
        run_ref=run.ref,
        agent=run.agent,
        requester=run.requester,
        tool=ask.tool.name,
        effect_class=ask.effect_class.value,
        amount_minor=proposal.amount_minor,
        currency=proposal.currency or "",
        subjects=proposal.subjects,
        args=proposal.args,
        step=ask.place.step,
        visit=ask.place.visit,
        ordinal=ask.place.ordinal,
    )


def requirement(run: Run, ask: Ask, *, older: Effect | None = None) -> Requirement | None:
    """Return why and how people must be asked, or None where the effect may leave on its own.

    `older` is the effect that it takes the place of, to whose key its own is linked.
    """
    asked = question(run, ask)
    keeper = gatekeeper()
    found = (_linked(older), _kinship(run, ask), _again(run, ask), _class(ask), _once(run, ask))
    reasons = [why for why in found if why]
    if reasons:
        return keeper.for_class(asked, "; ".join(reasons))
    return None if ask.undo_of is not None else keeper.requirement(asked)


def asked_again(run: Run, ask: Ask, reason: str) -> Requirement:
    """Return the requirement of a further round, for `reason`; another run's same act is named beside it, so that
    people know of it whichever way the round came about.
    """
    serialise_once_per(ask.once_per(settings.INTERLOCK_HASH_KEY))
    reasons = [why for why in (reason, _once(run, ask)) if why]
    return gatekeeper().for_class(question(run, ask), "; ".join(reasons))


def serialise(run: Run, once_per: str) -> None:
    """Make runs of one budget, and those that want the same business act, queue until the caller's transaction ends.

    So the second sees what the first has recorded: at the same place, of the same act, and of the sum of their money.
    """
    if run.has_kin:
        _queue_for(f"budget {run.budget_id}")
    if once_per:
        serialise_once_per(once_per)


def serialise_once_per(once_per: str) -> None:
    """Make runs that want the same business act queue until the caller's transaction ends: the second sees
    the first.
    """
    if once_per:
        _queue_for(once_per)


def _queue_for(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def earlier(once_per: str, *, run: Run, place: Place) -> Effect | None:
    """Return another effect, of any run, that is or may be the same business act; the newest first."""
    if not once_per:
        return None
    here = {"run_id": run.pk, "step": place.step, "visit": place.visit, "ordinal": place.ordinal}
    same = Effect.objects.filter(once_per=once_per, state__in=_ACTS).exclude(**here)
    return same.select_related("run").order_by("-id").first()


def acts_alike(once_per: Any, effect: Any) -> QuerySet[Effect]:
    """Return the other effects, of any run, that are the same business act and may have happened; the newest first.

    Both arguments may be columns of an outer query: what declares no `once_per` has none.
    """
    alike = Effect.objects.filter(once_per=once_per, state__in=_MAY_HAVE_ACTED)
    return alike.exclude(once_per="").exclude(pk=effect).order_by("-id")


def acted_meanwhile(effect: Effect) -> Effect | None:
    """Return another effect that is the same business act, and was sent, or found to be done, after people were asked
    about this one.
    """
    if not effect.once_per:
        return None
    asked = Wait.objects.filter(effect=effect, kind=WaitKind.GATE.value, ordinal=effect.round).order_by("-id")
    opened_at = asked.values_list("opened_at", flat=True).first()
    same = Effect.objects.filter(once_per=effect.once_per, state__in=_MAY_HAVE_ACTED).exclude(pk=effect.pk)
    since = Q(last_sent_at__gt=opened_at) | Q(adopted=True, settled_at__gt=opened_at)
    return same.filter(since).select_related("run").order_by("-id").first()


def _linked(older: Effect | None) -> str:
    """What became of the effect whose place is taken, as its row tells it. No word is put into a person's mouth."""
    if older is None:
        return ""
    if older.failure:
        return "the vendor refused the earlier act under the older key, and a person lets it be asked again"
    if older.words_id is not None:
        return "the earlier act under the older key was withdrawn, after a request that certainly did nothing"
    return "a person said that the earlier act under the older key never happened"


def _kinship(run: Run, ask: Ask) -> str:
    if ask.undo_of is not None or not run.has_kin:
        return ""
    if inherited(run, ask.place) is not None:
        return "the run that this one was forked from acted otherwise at this place"
    twin = of_kin(run, ask.place)
    if twin is None:
        return ""
    return f"{twin.run.ref}, a fork of the same line, has asked at this place already: {twin.key} is {twin.state}"


def _again(run: Run, ask: Ask) -> str:
    before = None if ask.undo_of is not None else done_before(run, ask.place)
    if before is None:
        return ""
    return f"the run was skipped back, and this step is done again under a new key: {before} is applied"


def _class(ask: Ask) -> str:
    return (
        "it can be neither replayed safely nor undone" if ask.effect_class is EffectClass.IRREVERSIBLE else ""
    )


def _once(run: Run, ask: Ask) -> str:
    twin = earlier(ask.once_per(settings.INTERLOCK_HASH_KEY), run=run, place=ask.place)
    if twin is None:
        return ""
    return f"{twin.run.ref} has asked for the same already: {twin.key} is {twin.state}"
