"""Which statements are to be made: one a day (UTC) of each account by the schedule, and those that people ask for.

The database says what is due; a message only says "look". A day on which nothing ran is caught up, within bounds; what
can't be made is tried again, later each time, and the request says why.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from celery import current_app
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Max

from durable import acts, clock
from durable import plan as plans
from durable.beats import committing
from durable.errors import Conflict, InterlockError, Invalid
from durable.models import StatementRequest, VendorStatement
from durable.models.fields import Clock
from durable.runs import check_actor
from durable.states import ActKind
from durable.text import cut, mend
from durable.vendor_statements import making
from durable.vendor_statements.accounts import Account, account, covered
from durable.vendor_statements.listing import EDGE

log = logging.getLogger(__name__)

TASK = "durable.statements"
DAY = timedelta(days=1)
#: Days that are caught up at most.
CATCH_UP = 31
#: The longest period that one statement may be about, and the first moment that any may be.
LONGEST = timedelta(days=366)
EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
#: The first pause after a failure, doubling, and the longest.
_PAUSE, _LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=1)
_WORDS = 500
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


def settled_by(one: Account, end: datetime) -> datetime:
    """From when on a statement up to `end` can be made: all that was done before is then to be seen on both sides."""
    return end + max(EDGE, one.settles)


def last_day(accounts: Sequence[Account]) -> tuple[datetime, datetime]:
    """Return the last day, in UTC, that has settled for all these accounts: not yesterday yet soon after midnight."""
    settled = clock.db_now() - max((EDGE, *(one.settles for one in accounts)))
    end = settled.replace(hour=0, minute=0, second=0, microsecond=0)
    return end - DAY, end


def plan(now: datetime | None = None) -> int:
    """Note which days of which accounts are due by the schedule; returns for how many accounts any were.

    It goes on from where the newest period that was asked for ends; an account of which none was begins with yesterday.
    """
    plans.agents()
    now = (now or clock.db_now()).astimezone(UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    known = StatementRequest.objects.filter(asked_by="").values_list("vendor", "account")
    newest = {(vendor, name): end for vendor, name, end in known.annotate(end=Max("end"))}
    noted = 0
    for one in covered():
        begin = max(newest.get((one.vendor, one.account), today - DAY), today - CATCH_UP * DAY)
        due = [(start, end) for start, end in _days(begin, today) if _from(one, end) <= now]
        if due:
            with committing("wanted"):
                StatementRequest.objects.bulk_create(
                    [
                        StatementRequest(vendor=one.vendor, account=one.account, start=start, end=end)
                        for start, end in due
                    ],
                    ignore_conflicts=True,
                )
            noted += 1
    return noted


def _days(begin: datetime, today: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Each day up to today; first what is left of a day in the midst of which it begins."""
    while begin < today:
        end = begin.replace(hour=0, minute=0, second=0, microsecond=0) + DAY
        yield begin, end
        begin = end


def _from(one: Account, end: datetime) -> datetime:
    """When the schedule takes up what ended at a moment."""
    return max(settled_by(one, end), end + settings.STATEMENT_AFTER_SECONDS)


def ask(
    vendor: str, name: str, start: datetime, end: datetime, *, actor: str, announced: bool = True
) -> StatementRequest:
    """Let a statement be made soon: of one account, about the period from `start` up to `end`. No worker is told
    (`announced`) where the caller goes on to make it; should it not come to that, beat finds it.

    Raises Invalid for an account that can't be listed and a period that is none, is too long or not over; Conflict
    where the same is on its way.
    """
    check_actor(actor)
    plans.agents()
    one = account(vendor, name)
    _check(one, start, end)
    with committing("command"):
        # Two who ask for the same at once ask for one.
        with connection.cursor() as cursor:
            cursor.execute(_ALONE, [f"statements of {one.name}"])
        facts = {"vendor": one.vendor, "account": one.account, "start": start, "end": end}
        underway = StatementRequest.objects.filter(**facts, due_at__isnull=False).first()
        if underway is not None:
            raise Conflict(f"the same is on its way as statement {underway.pk}")
        made = StatementRequest.objects.create(**facts, asked_by=actor)
        told = {
            "vendor": one.vendor,
            "account": one.account,
            "from": start.isoformat(),
            "to": end.isoformat(),
        }
        acts.record(ActKind.STATEMENT_ASKED, actor=actor, about=acts.about("statement", made.pk), body=told)
        if announced:
            transaction.on_commit(announce)
    return made


def _check(one: Account, start: datetime, end: datetime) -> None:
    now = clock.db_now()
    if start < EARLIEST:
        raise Invalid("from", f"must not lie before {EARLIEST:%Y-%m-%d}")
    if end > now + LONGEST:
        raise Invalid("to", "must not lie in the future")
    if not start < end:
        raise Invalid("to", "must lie after the beginning of the period")
    if end - start > LONGEST:
        raise Invalid("to", f"must lie at most {LONGEST.days} days after the beginning of the period")
    ready = settled_by(one, end)
    if ready > now:
        raise Invalid(
            "to",
            f"must be a moment by which everything has settled; this period can be looked at from"
            f" {ready.astimezone(UTC):%Y-%m-%d %H:%M} UTC on",
        )


def announce() -> None:
    """Tell a worker to look; where nobody hears it, beat's next message does."""
    try:
        current_app.send_task(TASK, retry=False, ignore_result=True)
    except Exception as error:  # the request is committed, whatever is wrong with the broker
        log.warning("broker away, a statement waits for beat: %s", type(error).__name__)


def due() -> list[int]:
    """The numbers of the statements that are to be tried now, those that wait longest first."""
    found = StatementRequest.objects.filter(due_at__lte=Clock()).order_by("due_at", "pk")
    return list(found.values_list("pk", flat=True)[:100])


def work(within: timedelta = timedelta(minutes=5)) -> int:
    """Make what is due, one after the other, until `within` is over. Returns how many were made."""
    end, made = clock.elapsed() + within.total_seconds(), 0
    for number in due():
        if clock.elapsed() >= end:
            break
        made += attempt(number) is not None
    return made


def attempt(number: int) -> VendorStatement | None:
    """Make one statement. Where that fails, note why, and when it is tried again: None, as where others are at it."""
    try:
        return making.make(number)
    except Conflict:
        return None
    except InterlockError as error:
        log.warning("statement %s could not be made: %s", number, error)
        why = str(error)
    except (OperationalError, InterfaceError):
        raise  # the database is away: nothing can be written down, and no other statement be made
    except (
        Exception
    ) as error:  # one that can't be made, whatever is wrong with it, keeps no other from being made
        log.error("statement %s failed: %s", number, type(error).__name__)
        why = f"it failed unexpectedly ({type(error).__name__})"
    with committing("wanted"):
        _put_off(number, why)
    return None


def see_through(number: int) -> VendorStatement | None:
    """Make one statement, or wait for whoever is making it: the statement, whoever made it. None, and the request says
    why, where it could not be made.
    """
    made = attempt(number)
    while made is None and not StatementRequest.objects.get(pk=number).trouble:
        making.wait_for_others(number)
        # Whoever was at it has made it or said why not; or was killed, and it is for us to make.
        made = VendorStatement.objects.filter(pk=number).first() or attempt(number)
    return made


def _put_off(number: int, why: str) -> None:
    request = StatementRequest.objects.select_for_update().get(pk=number)
    pause = min(_PAUSE * 2 ** min(request.tries, 10), _LONGEST_PAUSE)
    StatementRequest.objects.filter(pk=number, due_at__isnull=False).update(
        tries=F("tries") + 1,
        trouble=cut(mend(why), _WORDS),
        failing_since=request.failing_since or Clock(),
        due_at=Clock() + pause,
    )


def pass_over() -> None:
    """What the schedule does each time: note what is due, and make it."""
    plan()
    work()
