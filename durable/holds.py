"""Legal holds: what somebody has ordered to be kept, no retention takes and no erasure destroys until it is lifted.

A hold is about one run, about a subject (every run with an effect about it, those to come too), or about a search of
the ledger: that is resolved to runs when the hold is set, and again before anything is deleted, so that what it finds
later is held as well. What it has found once stays held until the hold is lifted. Nobody deletes a hold.

Whoever deletes asks `held`, or the view `durable_heldrun` in plain SQL, behind `fence`: from then on no hold is set
until their transaction ends.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject
from django.utils import timezone
from django.utils.module_loading import import_string

from durable import acts, vault
from durable.beats import committing, stating
from durable.digest import canonical, digest
from durable.errors import Conflict, Invalid, NotFound
from durable.models import HeldRun, LegalHold, Run, Subject
from durable.models.fields import Clock
from durable.runs import check_actor
from durable.states import ActKind, HoldScope

_LOCK = 0x1A7E_4002
_SEARCH_LIMIT = 2_000
#: The runs of a queryset, which stands for {found}, put under a hold.
_FIND = """
INSERT INTO durable_foundrun (hold_id, run_id) SELECT DISTINCT %s::bigint, found.run_id FROM ({found}) AS found (run_id)
ON CONFLICT DO NOTHING
"""

#: Finds runs by the text of a search, with the moment from which its days count; raises Invalid for what it can't read.
Search = Callable[[str, datetime], QuerySet[Any, Any]]


class Words(NamedTuple):
    """What people wrote about a hold: why it was set, the text of its search, why it was lifted."""

    reason: str
    search: str = ""
    lifted: str = ""


def held(run: str = "pk") -> Exists:
    """Whether a run is held; `run` names its number in the outer query. One predicate, for whoever deletes."""
    return Exists(HeldRun.objects.filter(run=OuterRef(run)))


def told(run: str = "pk") -> ArraySubquery:
    """The holds of a run for its page, with no query of their own: number, by whom, and when as ISO 8601."""
    holding = HeldRun.objects.filter(run=OuterRef(run)).order_by("hold_id")
    return ArraySubquery(holding.values(found=JSONObject(pk="hold_id", actor="hold__actor", at="hold__at")))


def told_of_subject() -> ArraySubquery:
    """The same of a subject in the outer query: for which holds nothing about it may be erased."""
    runs = Subject.objects.filter(hash=OuterRef(OuterRef(OuterRef("hash")))).values("run")
    by_run = HeldRun.objects.filter(run__in=runs).values("hold")
    found = LegalHold.objects.filter(Q(pk__in=by_run) | Q(hash=OuterRef("hash"), lifted_at=None))
    return ArraySubquery(found.order_by("pk").values(told=JSONObject(pk="pk", actor="actor", at="at")))


def fence() -> None:
    """Let no hold be set until the caller's transaction ends: what is not held now may be deleted in it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [_LOCK])


def of_runs(runs: Collection[int]) -> dict[int, list[LegalHold]]:
    """Return the holds that hold these runs (by number), the oldest first; runs that none holds are left out."""
    found: dict[int, list[LegalHold]] = defaultdict(list)
    rows = HeldRun.objects.filter(run__in=list(runs)).order_by("hold_id").values_list("run_id", "hold_id")
    pairs = list(dict.fromkeys(rows))
    by_id = LegalHold.objects.in_bulk({hold for _, hold in pairs})
    for run, hold in pairs:
        found[run].append(by_id[hold])
    return dict(found)


def of_subject(hash: str) -> list[LegalHold]:
    """Return the holds for which nothing about this subject (by keyed hash) may be erased, the oldest first.

    Of the subject itself, and of any run that has to do with it: its data stand there beside what is held.
    """
    runs = Subject.objects.filter(hash=hash).values("run")
    by_run = HeldRun.objects.filter(run__in=runs).values("hold")
    found = LegalHold.objects.filter(pk__in=by_run) | LegalHold.objects.filter(hash=hash, lifted_at=None)
    return list(found.distinct().order_by("pk"))


def set_on_run(run_ref: str, *, actor: str, reason: str) -> LegalHold:
    """Hold one run. Raises Invalid without actor or reason, NotFound, Conflict where such a hold stands."""
    check_actor(actor, reason)
    with committing("command"):
        _alone()
        run = Run.objects.filter(ref=run_ref).first()
        if run is None:
            raise NotFound(f"no run {run_ref}")
        if LegalHold.objects.filter(run=run, lifted_at=None).exists():
            raise Conflict(f"{run_ref} is under a legal hold already")
        return _made(HoldScope.RUN, actor, Words(reason), concerns=run_ref, facts={"run": run_ref}, run=run)


def set_on_subject(kind: str, hash: str, *, actor: str, reason: str) -> LegalHold:
    """Hold every run with an effect about a subject, by its kind and keyed hash; nobody need know it yet.

    Raises Invalid without actor, reason, kind or hash, Conflict where such a hold stands.
    """
    check_actor(actor, reason)
    if not kind.strip() or not hash.strip():
        raise Invalid("subject", "name what it is, such as customer, and whom it is about")
    with committing("command"):
        _alone()
        if LegalHold.objects.filter(hash=hash, lifted_at=None).exists():
            raise Conflict("this subject is under a legal hold already")
        facts = {"kind": kind, "subject": hash}
        return _made(HoldScope.SUBJECT, actor, Words(reason), facts=facts, kind=kind, hash=hash)


def set_on_search(text: str, *, actor: str, reason: str) -> LegalHold:
    """Hold every run with an effect that a search of the ledger finds, now or later. Its days are those of the present
    time zone, whoever resolves it; its `today` is the day on which it is set.

    Raises Invalid without actor, reason or text, and for a search that can't be understood or finds too many names.
    """
    check_actor(actor, reason)
    if not text.strip() or len(text) > _SEARCH_LIMIT:
        raise Invalid("search", f"say what to look for, in at most {_SEARCH_LIMIT} characters")
    with committing("command"):
        _alone()
        here = timezone.get_current_timezone_name()
        facts = {"search": digest(text.strip()), "zone": here}
        hold = _made(HoldScope.SEARCH, actor, Words(reason, text.strip()), facts=facts, zone=here)
        _find(hold)
        return hold


def lift(hold_id: int, *, actor: str, reason: str) -> LegalHold:
    """Lift a hold: from now on its runs are kept no longer than any others. Raises Invalid, NotFound, Conflict."""
    check_actor(actor, reason)
    with committing("command"):
        hold = (
            LegalHold.objects.select_for_update(of=("self",)).select_related("run").filter(pk=hold_id).first()
        )
        if hold is None:
            raise NotFound(f"no legal hold {hold_id}")
        if hold.lifted_at is not None:
            raise Conflict(f"legal hold {hold_id} was lifted by {hold.lifted_by} already")
        box = _box(hold.pk, words(hold)._replace(lifted=reason))
        LegalHold.objects.filter(pk=hold.pk).update(lifted_at=Clock(), lifted_by=actor, box=box)
        acts.record(
            ActKind.LEGAL_HOLD_LIFTED,
            actor=actor,
            about=acts.about("hold", hold.pk),
            before={"hold": "stands"},
            after={"hold": "lifted"},
            reason=reason,
            concerns=hold.run.ref if hold.run else "",
            body={"scope": hold.scope},
        )
        hold.refresh_from_db()
        return hold


def words(hold: LegalHold) -> Words:
    """Return what people wrote about a hold. Raises vault.Tampered."""
    found = json.loads(vault.open_for_index(bytes(hold.box), acts.about("hold", hold.pk)))
    return Words(**{name: str(found.get(name, "")) for name in Words._fields})


def zone(hold: LegalHold) -> ZoneInfo:
    """The time zone in which the days of a hold's search are meant."""
    return ZoneInfo(hold.zone or settings.TIME_ZONE)


def forget(which: Mapping[str, Collection[int]]) -> None:
    """Forget what people wrote about holds that were lifted: of each part of their `Words`, those of these holds.

    In the caller's transaction. What a standing hold says stays: it keeps whomever it names from being erased.
    """
    every = {pk for pks in which.values() for pk in pks}
    for hold in LegalHold.objects.filter(pk__in=every, lifted_at__isnull=False).order_by("pk"):
        try:
            said = words(hold)
        except vault.Tampered:
            continue
        kept = said._replace(**{part: "(erased)" for part, pks in which.items() if hold.pk in pks})
        if kept != said:
            LegalHold.objects.filter(pk=hold.pk).update(box=_box(hold.pk, kept))


def find_again() -> list[LegalHold]:
    """Resolve the searches of all holds once more, before anything is deleted. Returns those that can't be.

    While there are any, nobody knows what they hold: nothing may be deleted.
    """
    troubled = []
    for hold in LegalHold.objects.filter(scope=HoldScope.SEARCH.value, lifted_at=None).order_by("pk"):
        try:
            with committing("prune"):
                _find(hold)
        except (Invalid, vault.Tampered) as error:
            with stating("prune"):
                LegalHold.objects.filter(pk=hold.pk).update(trouble=str(error))
            troubled.append(hold)
    return troubled


def _find(hold: LegalHold) -> None:
    """Put what the search of a hold finds at this moment under it."""
    search: Search = import_string(settings.INTERLOCK_SEARCH)
    with timezone.override(zone(hold)):
        found = search(words(hold).search, hold.at)
        try:
            sql, values = found.query.sql_with_params()
        except EmptyResultSet:
            sql, values = "SELECT NULL::bigint WHERE false", ()
    with connection.cursor() as cursor:
        cursor.execute(_FIND.format(found=sql), [hold.pk, *values])
    LegalHold.objects.filter(pk=hold.pk).update(found_at=Clock(), trouble="")


def _alone() -> None:
    """Wait until nobody deletes, and let nobody begin to until the caller's transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _made(
    scope: HoldScope, actor: str, said: Words, *, facts: dict[str, Any], concerns: str = "", **about: Any
) -> LegalHold:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('durable_legalhold', 'id'))")
        (number,) = cursor.fetchone()
    hold = LegalHold.objects.create(
        pk=number, scope=scope.value, actor=actor, box=_box(number, said), **about
    )
    acts.record(
        ActKind.LEGAL_HOLD_SET,
        actor=actor,
        about=acts.about("hold", number),
        before={"hold": ""},
        after={"hold": "stands"},
        reason=said.reason,
        concerns=concerns,
        body={"scope": scope.value, **facts},
    )
    hold.refresh_from_db()
    return hold


def _box(number: int, said: Words) -> bytes:
    return vault.box_for_index(canonical(said._asdict()), acts.about("hold", number))
