"""Acts on many runs: drafted, shown, started by a person, and carried out one run at a time.

Each run is acted on by the same command as on its own page, in a commit of its own that holds the outcome as well; the
person's right is asked for at each run's turn. It runs what was shown: a run that no longer stands as it stood when the
act was drafted refuses, and one that came to match later is none of its runs. A kill loses nothing and repeats nothing:
what has no outcome yet is still to be done, and any worker goes on with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from celery import current_app
from django.conf import settings
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q

from approvals import access, bulk_radius
from approvals.bulk_acts import BulkKind, kind
from approvals.capabilities import Capability
from approvals.errors import Refused
from approvals.models import BulkAct, BulkResult
from approvals.queries import finding
from approvals.run_query import RunQuery
from approvals.states import BulkState, Outcome
from durable import acts, draining, journal, standing
from durable.beats import beside, committing, stating
from durable.clock import elapsed
from durable.errors import Conflict, InterlockError, Invalid, Moved, NotFound
from durable.models import Run
from durable.models.fields import Clock
from durable.runs import check_actor
from durable.states import ActKind

log = logging.getLogger(__name__)

TASK = "approvals.carry_on"
#: So many runs one act may reach: it is looked at before it is started, and no one looks at more.
MOST = 10_000
#: A worker goes on for so long, then lets other work have its turn.
STRETCH = 10.0
#: It says with each run that it is still there; where it is silent for so long, another one goes on.
LEASE: timedelta = settings.LEASE_SECONDS
_BATCH = 50
#: What the row of a run says that no longer stands as it was shown.
MOVED = "It has changed since it was shown to you, so nothing was done to it"


class Overtaken(Conflict):
    """The act was stopped, or another worker was at this run first; nothing is done."""


def draft(person: User, act: str, *, query: RunQuery | None, refs: Sequence[str] = ()) -> BulkAct:
    """Fix the runs of an act: those named, or all that a query finds; nothing is done to them yet.

    Raises Refused without the right, Invalid for an unknown act, no run, or too many.
    """
    _check(person)
    wanted = kind(act)
    if query is None:
        named = Run.objects.filter(ref__in=list(refs)[:MOST]).order_by("-pk")
        ids = list(named.values_list("pk", flat=True))
    else:
        ids = finding.ids(query, MOST + 1)
    if not ids:
        raise Invalid("run", "choose at least one run")
    if len(ids) > MOST:
        raise Invalid("q", f"finds more than {MOST:,} runs; narrow it, and act on the rest afterwards")
    stood = standing.of_many(ids)  # first: what is then shown is never older than what the act is held to
    outlooks = bulk_radius.outlooks(wanted, ids)
    with committing("command"):
        _drop_drafts(person)
        bulk = BulkAct.objects.create(
            person=person, act=wanted.name, query="" if query is None else str(query), total=len(ids)
        )
        BulkResult.objects.bulk_create(
            [
                BulkResult(
                    bulk=bulk, run_id=pk, outlook=outlooks[pk], seen=getattr(stood[pk], wanted.act.part)
                )
                for pk in ids
            ],
            batch_size=1_000,
        )
        bulk.radius = bulk_radius.shown(wanted, bulk, outlooks.values())
        bulk.save(update_fields=["radius"])
        _log(ActKind.BULK_DRAFTED, bulk, access.actor(person), {}, {"runs": len(ids), "state": bulk.state})
    return bulk


def _drop_drafts(person: User) -> None:
    """Delete what the person has drafted and not started. Locked first: what is started meanwhile is none of them."""
    drafts = BulkAct.objects.filter(person=person, state=BulkState.DRAFTED.value)
    locked = list(drafts.select_for_update().values_list("pk", flat=True))
    BulkAct.objects.filter(pk__in=locked).delete()


def again(person: User, pk: int) -> BulkAct:
    """Draft the same act anew, as its runs stand now: for those that refused it, or all of one that is not started."""
    before = get(person, pk)
    drafted = before.state == BulkState.DRAFTED
    found = before.results.filter(outcome=(Outcome.WAITING if drafted else Outcome.REFUSED).value)
    return draft(person, before.act, query=None, refs=list(found.values_list("run__ref", flat=True)))


def get(person: User, pk: int) -> BulkAct:
    """Return a bulk act that the person may see. Raises Missing without the right to see runs, NotFound for one that is
    not there, and for a draft of somebody else.
    """
    access.check(person, Capability.SEE_RUNS)
    found = BulkAct.objects.select_related("person").filter(pk=pk).first()
    if found is None or (found.state == BulkState.DRAFTED and found.person_id != person.pk):
        raise NotFound("no such bulk act")
    return found


GONE = "This draft is gone: you have drafted another act meanwhile, and only the newest is kept"


def _locked(pk: int) -> BulkAct:
    """Lock an act. Raises Conflict where its draft has been dropped since it was looked at."""
    bulk = BulkAct.objects.select_for_update().filter(pk=pk).first()
    if bulk is None:
        raise Conflict(GONE)
    return bulk


def start(person: User, pk: int, reason: str) -> BulkAct:
    """Let workers begin. Raises Refused, Invalid without a reason, or Conflict where it has begun already."""
    _check(person)
    check_actor(access.actor(person), reason)
    get(person, pk)
    with committing("command"):
        bulk = _locked(pk)
        if bulk.state != BulkState.DRAFTED:
            raise Conflict("It has been started already; this page shows how far it is")
        now = Clock()
        # What was shown as not fitting is not tried, even if it fits by now: nothing is done that was not shown.
        bulk.results.exclude(outlook="").update(outcome=Outcome.SKIPPED.value, at=now)
        BulkAct.objects.filter(pk=pk).update(state=BulkState.GOING.value, reason=reason, started_at=now)
        _moved(ActKind.BULK_STARTED, bulk, access.actor(person), BulkState.GOING, reason)
        transaction.on_commit(partial(announce, pk))
    return bulk


def stop(person: User, pk: int) -> None:
    """Let no further run be acted on; what is done stays done. Raises Refused, or Conflict where it is over."""
    _check(person)
    get(person, pk)
    with committing("command"):
        bulk = _locked(pk)
        if bulk.state != BulkState.GOING:
            raise Conflict(f"It is {bulk.state}; there is nothing to stop")
        left = bulk.results.filter(outcome=Outcome.WAITING.value)
        left.update(outcome=Outcome.SKIPPED.value, words="stopped before its turn", at=Clock())
        BulkAct.objects.filter(pk=pk).update(
            state=BulkState.STOPPED.value, ended_at=Clock(), stopped_by=access.actor(person)
        )
        _moved(ActKind.BULK_STOPPED, bulk, access.actor(person), BulkState.STOPPED)


def carry_on(pk: int) -> None:
    """Go on with an act for a stretch, then hand it to whichever worker comes next. Nothing where somebody is at it."""
    if not _claim(pk):
        return
    try:
        over = _stretch(BulkAct.objects.select_related("person").get(pk=pk))
    finally:
        with stating("command"):
            BulkAct.objects.filter(pk=pk).update(lease_until=None)
    if not over:
        announce(pk)


def left() -> list[int]:
    """The acts that are under way and that nobody is at: their worker has died, or its message was lost."""
    return list(BulkAct.objects.filter(_unheld()).order_by("pk").values_list("pk", flat=True))


def announce(pk: int) -> None:
    """Tell the workers. Without a broker the next look of beat finds it."""
    try:
        current_app.send_task(TASK, [pk], retry=False, ignore_result=True)
    except Exception as error:  # it is committed: whatever is wrong with the broker, nobody is told "failed"
        log.warning("broker away, beat will find bulk act %s: %s", pk, type(error).__name__)


def _unheld() -> Q:
    return Q(state=BulkState.GOING.value) & (Q(lease_until=None) | Q(lease_until__lt=Clock()))


def _lease(pk: int) -> None:
    BulkAct.objects.filter(pk=pk, state=BulkState.GOING.value).update(lease_until=Clock() + LEASE)


def _claim(pk: int) -> bool:
    with stating("command"):
        return bool(BulkAct.objects.filter(_unheld(), pk=pk).update(lease_until=Clock() + LEASE))


def _stretch(bulk: BulkAct) -> bool:
    """Act on the runs that are left until the time is over. Returns whether none is left."""
    wanted, begun = kind(bulk.act), elapsed()
    waiting = bulk.results.filter(outcome=Outcome.WAITING.value).select_related("run").order_by("-pk")
    while results := list(waiting[:_BATCH]):
        for result in results:
            if draining.on() or elapsed() - begun > STRETCH:
                return False
            try:
                _one(bulk, wanted, result)
            except Overtaken:
                return False
    with committing("command"):
        going = BulkAct.objects.filter(pk=bulk.pk, state=BulkState.GOING.value)
        if going.update(state=BulkState.DONE.value, ended_at=Clock()):
            _moved(ActKind.BULK_ENDED, bulk, journal.ENGINE, BulkState.DONE)
    return True


def _one(bulk: BulkAct, wanted: BulkKind, result: BulkResult) -> None:
    """Act on one run, or keep why it refused."""
    command: Callable[..., None] = wanted.command
    try:
        with beside(partial(_witness, bulk.pk, result.pk)):
            command(result.run.ref, actor=access.actor(bulk.person), reason=bulk.reason, seen=result.seen)
    except Moved:
        _refused(result, MOVED)
    except (Overtaken, OperationalError, InterfaceError):
        raise  # another one's turn, or the database is away: nothing is known of this run
    except InterlockError as refusal:
        _refused(result, str(refusal))
    except Exception as error:  # one run that can't be acted on must not stand before all others for ever
        log.error("%s of %s failed: %s", bulk.act, result.run.ref, type(error).__name__)
        _refused(result, f"it failed unexpectedly ({type(error).__name__}); the log says more")


def _refused(result: BulkResult, words: str) -> None:
    with stating("command"):
        BulkResult.objects.filter(pk=result.pk, outcome=Outcome.WAITING.value).update(
            outcome=Outcome.REFUSED.value, words=words, at=Clock()
        )
    _lease(result.bulk_id)


def _witness(bulk_pk: int, result_pk: int) -> None:
    """Within the act's transaction: the bulk act still goes on, the person still may, and the run has one turn."""
    bulk = BulkAct.objects.select_for_update().get(pk=bulk_pk)
    if bulk.state != BulkState.GOING:
        raise Overtaken("the bulk act was stopped")
    person = User.objects.get(pk=bulk.person_id)
    if not access.may(person, Capability.STEER_RUNS):
        raise Refused(f"{access.actor(person)} does not have the right to steer runs any more")
    waiting = BulkResult.objects.filter(pk=result_pk, outcome=Outcome.WAITING.value)
    if not waiting.update(outcome=Outcome.DONE.value, at=Clock()):
        raise Overtaken("another worker was first")
    _lease(bulk_pk)


def _moved(what: ActKind, bulk: BulkAct, actor: str, to: BulkState, reason: str = "") -> None:
    """Log that a bulk act has come from where it stands in `bulk` to another state."""
    _log(what, bulk, actor, {"state": bulk.state}, {"state": to.value}, reason)


def _log(
    what: ActKind, bulk: BulkAct, actor: str, before: dict[str, Any], after: dict[str, Any], reason: str = ""
) -> None:
    about, body = acts.about("bulk", bulk.pk), {"act": bulk.act}
    acts.record(what, actor=actor, about=about, before=before, after=after, reason=reason, body=body)


def _check(person: User) -> None:
    if not access.may(person, Capability.STEER_RUNS):
        raise Refused("Your role does not include the right to steer runs")
