"""After the database was restored from a backup: what happened since is known to the vendors, and forgotten here.

`restored` stops everything, opens a recovery epoch, and marks every run that came out of the backup. From then on each
effect of such a run is looked up before anything of it is sent (`durable.forgotten`), whatever the ledger says; claims,
approvals and requests of the time that is gone count for nothing. What vendors list and the ledger does not know is put
before the person who restores: a run that was started after the backup is gone, and only its effects are left.

Each piece is a commit of its own under the stop order, and repeats nothing: killed in the middle, it is called again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import DateTimeField, Exists, Max, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Least

from durable import acts, clock, journal, plan, stops, tools, waits
from durable.beats import asking, committing
from durable.digest import plain
from durable.errors import Conflict, Invalid
from durable.ledger import quiet_after
from durable.models import Effect, LedgerEvent, Recovery, Run, Stop
from durable.models.fields import Clock
from durable.runs import check_actor
from durable.states import ENDED, OPEN, ActKind, EventKind
from durable.tools import Tool
from durable.transitions import lock_run
from durable.vendor import Period, Receipt

#: Two clocks never agree: the backup counts as so much older than the newest event in it.
MARGIN = timedelta(minutes=5)
#: Seconds that one vendor's statement may take.
STATEMENT_TIMEOUT = 60.0
_LOCK = 4712
#: What tells the order of a recovery from an operator's own of everything.
_ORDER = "until gone through"
_OPEN = [state.value for state in OPEN]
_ENDED = [state.value for state in ENDED]


@dataclass(slots=True)
class Report:
    """What a recovery found: how many runs on their way and effects it doubts, and whether anything still stops."""

    recovery: Recovery
    runs: int = 0
    effects: int = 0
    away: list[str] = field(default_factory=list)

    @property
    def unknown(self) -> list[dict[str, Any]]:
        """What vendors have and the ledger has not; `run` says whether the run is known, and may still ask for it."""
        found: list[dict[str, Any]] = self.recovery.unknown
        return found

    @property
    def stopped(self) -> bool:
        """Whether its stop order stands."""
        return self.recovery.stop is not None and self.recovery.stop.lifted_at is None


@dataclass(frozen=True, slots=True)
class Standing:
    """The newest recovery while it is not over: `left` effects may still be forgotten ones; `stopped` as in Report."""

    since: datetime
    left: int
    gone: int
    stopped: bool


def restored(*, actor: str, reason: str, since: datetime | None = None) -> Report:
    """Go through everything after a restore; `since` is the backup's moment, by default that of the newest event.

    Lifts its stop order at the end, unless a vendor could not be asked, or lists effects of runs that are gone: then a
    person looks first (`go_on`). A call that was cut off is continued. Raises Invalid.
    """
    check_actor(actor, reason)
    plan.agents()
    recovery = _open(actor, reason, since)
    report = Report(recovery)
    _mark_ended(recovery)
    for ref in _to_mark(recovery):
        effects = _mark(ref, recovery, actor)
        if effects is not None:
            report.runs, report.effects = report.runs + 1, report.effects + effects
    found, report.away = _unknown(recovery.since - MARGIN)
    with committing("recovery"):
        Recovery.objects.filter(pk=recovery.pk).update(unknown=found, done_at=Clock())
        told = {
            "runs": report.runs,
            "effects": report.effects,
            "unknown": len(found),
            "away": len(report.away),
        }
        _log(ActKind.RESTORE_CHECKED, recovery, actor, told)
    recovery.refresh_from_db()
    if not report.away and all(one["run"] for one in report.unknown):
        go_on(actor=actor, reason=reason)
        recovery.refresh_from_db()
    return report


def go_on(*, actor: str, reason: str) -> int:
    """Lift the stop order of the newest recovery. Returns how many runs it had held; 0 where it is lifted already.

    Raises Conflict where there was no restore, or it has not been gone through to its end.
    """
    check_actor(actor, reason)
    recovery = Recovery.objects.select_related("stop").order_by("-pk").first()
    if recovery is None or recovery.done_at is None:
        raise Conflict("no restore has been gone through to its end")
    if recovery.stop is None or recovery.stop.lifted_at is not None:
        return 0
    return stops.lift(recovery.stop.pk, actor=actor, reason=reason)


def standing() -> Standing | None:
    """Return what people should know of the newest restore, or None where nothing of it is left to settle."""
    recovery = Recovery.objects.select_related("stop").order_by("-pk").first()
    if recovery is None:
        return None
    stopped = recovery.stop is not None and recovery.stop.lifted_at is None
    left = Effect.objects.filter(forgotten_since__isnull=False, state__in=_OPEN).count()
    gone = sum(not one["run"] for one in recovery.unknown) if stopped else 0
    return Standing(recovery.since, left, gone, stopped) if stopped or left else None


def _open(actor: str, reason: str, since: datetime | None) -> Recovery:
    """Stop everything and open the epoch, in one commit; or take the one up that was cut off.

    The order is the recovery's own, and stands beside an operator's: who lifts that one lets nothing go unseen. One
    that an earlier recovery left standing is taken over, and so is its moment: nothing has left since.
    """
    now = clock.db_now()
    if since is not None and since > now:
        raise Invalid("since", f"must not lie in the future; it is {now:%Y-%m-%d %H:%M:%S} UTC here")
    with committing("recovery"):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        unfinished = Recovery.objects.filter(done_at=None).order_by("-pk").first()
        if unfinished is not None:
            return unfinished
        before = Recovery.objects.filter(stop__isnull=False, stop__lifted_at=None).order_by("-pk").first()
        since = since or _newest(now) - MARGIN
        made = Recovery.objects.create(
            since=since if before is None else min(since, before.since),
            actor=actor,
            reason=reason,
            stop=before.stop if before is not None else _stop(actor, reason),
            last_run=Run.objects.aggregate(last=Coalesce(Max("pk"), 0))["last"],
        )
        told = {"since": made.since, "last_run": made.last_run}
        _log(ActKind.RESTORE_BEGUN, made, actor, told, reason)
        return made


def _log(what: ActKind, recovery: Recovery, actor: str, after: Mapping[str, Any], reason: str = "") -> None:
    about = acts.about("restore", recovery.pk)
    acts.record(what, actor=actor, about=about, before={}, after=after, reason=reason)


def _stop(actor: str, reason: str) -> Stop:
    words = f"restored from a backup: {reason}"
    return stops.placed("all", _ORDER, actor=actor, reason=words)


def _newest(now: datetime) -> datetime:
    """When the newest event of a run came. What people did since the restore, such as signing in, says nothing."""
    of_runs = LedgerEvent.objects.filter(run_ref__startswith="run-")
    newest = of_runs.exclude(kind=EventKind.RESTORED.value).order_by("-id").first()
    return now if newest is None else newest.at


def _came_out(recovery: Recovery) -> QuerySet[Run]:
    """Runs that were there before the restore and have not been marked by it."""
    unmarked = Q(recovery=None) | Q(recovery__lt=recovery.pk)
    return Run.objects.filter(unmarked, pk__lte=recovery.last_run)


def _earliest(since: datetime) -> Least:
    """The moment of the oldest backup that a row came out of."""
    return Least("forgotten_since", Value(since, DateTimeField()))


def _mark_ended(recovery: Recovery) -> None:
    """Runs that have ended are doubted too, since they may be retried or compensated, but nothing happens to them."""
    open_effects = Effect.objects.filter(run=OuterRef("pk"), state__in=_OPEN)
    ended = _came_out(recovery).filter(~Exists(open_effects), state__in=_ENDED)
    with committing("recovery"):
        ended.update(recovery=recovery, forgotten_since=_earliest(recovery.since))


def _to_mark(recovery: Recovery) -> Iterator[str]:
    yield from _came_out(recovery).order_by("pk").values_list("ref", flat=True)


def _mark(run_ref: str, recovery: Recovery, actor: str) -> int | None:
    """Doubt what one run has done since the backup. Returns how many of its open effects may have been sent; None
    where another call has marked it.

    Its worker of then, if there was one, has lost it. It is driven again where one of its effects is doubted.
    """
    with committing("restored"):
        run = lock_run(run_ref)
        if run.recovery_id is not None and run.recovery_id >= recovery.pk:
            return None
        marks = {"recovery": recovery, "forgotten_since": _earliest(recovery.since)}
        if run.lease_until is not None:
            marks |= {"lease_until": Clock() - timedelta(microseconds=1), "nonce": ""}
        Run.objects.filter(pk=run.pk).update(**marks)
        effects = Effect.objects.filter(run=run, state__in=_OPEN).order_by("pk").select_for_update()
        doubted = [effect.pk for effect in effects]
        quiet = quiet_after(recovery)
        Effect.objects.filter(pk__in=doubted).update(forgotten_since=_earliest(recovery.since), **quiet)
        body = {"epoch": recovery.pk, "since": recovery.since.isoformat(), "doubted": len(doubted)}
        journal.record(run, EventKind.RESTORED, actor=actor, words=recovery.reason, body=body)
        if doubted:
            waits.wake(run)
    return len(doubted)


def _unknown(since: datetime) -> tuple[list[dict[str, Any]], list[str]]:
    """Hold the vendors' statements against the ledger: what it does not know, and the vendors that could not say."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    away: list[str] = []
    for tool in tools.all_tools():
        if tool.statement_function is None:
            continue
        try:
            listed = _statement(tool, since)
        except Exception as error:
            away.append(f"{tool.facts.vendor} ({tool.name}): {error}")
            continue
        found |= {(tool.facts.vendor, one.id): _shown(tool, one) for one in listed if one.key}
    keys = {one["key"] for one in found.values()}
    known = set(Effect.objects.filter(key__in=keys).values_list("key", flat=True))
    refs = {key.partition(":")[0] for key in keys}
    runs = set(Run.objects.filter(ref__in=refs).values_list("ref", flat=True))
    unknown = [one for one in found.values() if one["key"] not in known]
    return [{**one, "run": one["key"].partition(":")[0] in runs} for one in unknown], away


def _statement(tool: Tool, since: datetime) -> list[Receipt]:
    assert tool.statement_function is not None
    with asking("statement"):
        return list(tool.statement_function(Period(since, STATEMENT_TIMEOUT)))


def _shown(tool: Tool, receipt: Receipt) -> dict[str, Any]:
    shown: dict[str, Any] = plain(
        {
            "vendor": tool.facts.vendor,
            "key": receipt.key,
            "receipt": receipt.id,
            "amount": receipt.amount,
            "currency": receipt.currency,
            "at": receipt.at,
        }
    )
    return shown
