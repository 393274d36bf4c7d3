"""Stop orders: nothing more leaves of one agent, of one tool, or of everything, until the order is lifted.

An order is read by every release check, so it works with the broker down: a run that comes to it suspends on a hold.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import IntegrityError
from django.db.models import BigIntegerField, Exists, OuterRef, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from durable import acts, journal, plan, tools, waits
from durable.beats import committing
from durable.errors import Conflict, Invalid, UnknownAgent
from durable.models import Effect, Recovery, Run, Stop, Wait
from durable.models.fields import Clock
from durable.runs import check_actor
from durable.states import ActKind, EventKind, WaitKind, WaitState
from durable.text import cut, mend
from durable.transitions import lock_run

SCOPES = ("all", "agent", "tool")
#: In place of a reason that named somebody whose data was erased.
FORGOTTEN = "(erased)"


def order(scope: str, name: str = "", *, actor: str, reason: str) -> Stop:
    """Order a stop. Raises Invalid for an unknown scope, or a name that is missing or nobody's; Conflict where the same
    order stands.
    """
    check_actor(actor, reason)
    if scope not in SCOPES:
        raise Invalid("scope", f"must be one of {', '.join(SCOPES)}")
    if (scope == "all") != (name == ""):
        raise Invalid("name", "names the agent or tool to stop; a stop of everything has none")
    if scope != "all":
        _check_known(scope, name)
    try:
        with committing("command"):
            return placed(scope, name, actor=actor, reason=reason)
    except IntegrityError:
        raise Conflict(f"{scope} {name} is stopped already".replace("  ", " ")) from None


def _check_known(scope: str, name: str) -> None:
    """Refuse a stop of what there is not: who mistypes a name must not believe that nothing leaves any more.

    What older code ran stays stoppable, and no stop is refused while nobody can tell what there is: that is so where
    an agent's module can't be imported.
    """
    try:
        found = set(plan.agents())
    except UnknownAgent:
        return
    if scope == "agent":
        known = name in found or Run.objects.filter(agent=name).exists()
    else:
        found = {called for tool in tools.all_tools() for called in _names(tool)}
        known = name in found or Effect.objects.filter(tool=name).exists()
    if not known:
        shown = cut(mend(name), 60)
        raise Invalid("name", f"no {scope} {shown!r}; known are {', '.join(sorted(found)) or 'none'}")


def _names(tool: tools.Tool) -> tuple[str, ...]:
    """Under which names acts of a tool stand in the ledger: its own, and its undo's."""
    return (tool.name,) if tool.undo_act is None else (tool.name, tool.undo_act.name)


def placed(scope: str, name: str, *, actor: str, reason: str) -> Stop:
    """Write an order down and log it, in the caller's transaction."""
    made = Stop.objects.create(scope=scope, name=name, actor=actor, reason=reason)
    _log(ActKind.STOP_ORDERED, made, actor, "", "stands", reason)
    return made


def forget(orders: Collection[int], restores: Collection[int]) -> None:
    """Forget why these orders were given, and these restores begun: the words name somebody who is erased.

    In the caller's transaction. The act in the log has the same words sealed, and loses them on its own.
    """
    Stop.objects.filter(pk__in=orders).update(reason=FORGOTTEN)
    Recovery.objects.filter(pk__in=restores).update(reason=FORGOTTEN)


def _log(what: ActKind, stop: Stop, actor: str, before: str, after: str, reason: str) -> None:
    acts.record(
        what,
        actor=actor,
        about=acts.about("stop", stop.pk),
        before={"order": before},
        after={"order": after},
        reason=reason,
        body={"scope": stop.scope, "name": stop.name},
    )


def lift(stop_id: int, *, actor: str, reason: str) -> int:
    """Lift an order and let the runs go on that it had stopped. Returns how many; the sweeper finds what a crash left.

    The reason stands in the ledger of each run that goes on. Raises Conflict where the order is lifted already.
    """
    check_actor(actor, reason)
    with committing("command"):
        if not Stop.objects.filter(pk=stop_id, lifted_at=None).update(lifted_at=Clock(), lifted_by=actor):
            raise Conflict("the order is lifted already")
        _log(ActKind.STOP_LIFTED, Stop.objects.get(pk=stop_id), actor, "stands", "lifted", reason)
    stopped = Wait.objects.filter(kind=WaitKind.HOLD.value, state=WaitState.OPEN.value, detail__stop=stop_id)
    count = 0
    for wait in stopped.select_related("run").order_by("id"):
        count += let_go(wait, actor=actor, reason=reason)
    return count


def let_go(wait: Wait, *, actor: str, reason: str = "") -> bool:
    """Let a run go on from the hold of a lifted order. False where something else had ended that hold before."""
    with committing("command"):
        run = lock_run(wait.run.ref)
        if not waits.resolve(run, wait, by=actor):
            return False
        body = {"stop": wait.detail.get("stop")}
        journal.record(run, EventKind.RELEASED, actor=actor, words=reason, body=body)
    return True


def left_behind() -> QuerySet[Wait]:
    """Return holds of orders that are lifted: who lifted them did not get round to letting the runs go."""
    holds = Wait.objects.filter(kind=WaitKind.HOLD.value, state=WaitState.OPEN.value, detail__has_key="stop")
    named = holds.annotate(stop=Cast(KeyTextTransform("stop", "detail"), BigIntegerField()))
    lifted = Stop.objects.filter(pk=OuterRef("stop"), lifted_at__isnull=False)
    return named.filter(Exists(lifted)).select_related("run").order_by("id")
