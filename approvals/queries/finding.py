"""Which runs a query finds. One definition for a list's rows, its counts, its badge, and for bulk acts on it.

Each part has an index of its own: nothing here reads a table from end to end, however many runs there are.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import DateTimeField, Exists, Func, OuterRef, Q, QuerySet, Value
from django.utils import timezone

from approvals.run_query import EXPIRING, HELD, IN_DOUBT, STATES, STUCK, WAITING, RunQuery, parse
from durable.digest import keyed_hash
from durable.errors import Invalid
from durable.models import Run, Subject, Wait
from durable.states import Attention, WaitKind, WaitState
from durable.tools import all_tools

#: There are few agents; more than this are not offered or searched through.
AGENTS = 200
#: Runs may be committed a little out of the order of their ids; further apart than this they never are.
_OUT_OF_ORDER = 1_000

#: Each agent by one step through `run_by_agent`, past all of its runs.
_AGENTS = """
WITH RECURSIVE found(agent) AS (
    (SELECT agent FROM durable_run ORDER BY agent LIMIT 1)
    UNION ALL
    SELECT (SELECT r.agent FROM durable_run r WHERE r.agent > f.agent ORDER BY r.agent LIMIT 1)
    FROM found f WHERE f.agent IS NOT NULL
)
SELECT agent FROM found WHERE agent IS NOT NULL LIMIT %s
"""

#: The last run that started before a moment: halving the ids, since runs start in their order. Some twenty steps.
_BEFORE = """
WITH RECURSIVE halved(low, high) AS (
    SELECT 0::bigint, coalesce(max(id), 0) FROM durable_run
    UNION ALL
    SELECT coalesce(older.id, h.low), CASE WHEN older.id IS NULL THEN h.middle ELSE h.high END
    FROM (SELECT low, high, (low + high) / 2 AS middle FROM halved WHERE low < high) h
    LEFT JOIN LATERAL (
        SELECT next.id FROM (
            SELECT r.id, r.created_at FROM durable_run r WHERE r.id > h.middle ORDER BY r.id LIMIT 1
        ) next
        WHERE next.id <= h.high AND next.created_at < statement_timestamp() - %(age)s
    ) older ON true
)
SELECT max(low), statement_timestamp() - %(age)s FROM halved
"""


class Tonight(Func):
    """The end of today in the zone of the pages, by the database's clock; one moment for a whole statement."""

    template = "(date_trunc('day', statement_timestamp(), %(expressions)s) + interval '1 day')"
    output_field = DateTimeField()


def filtered(status: str, rest: str = "") -> QuerySet[Run]:
    """The runs of one status, or all without one, that the rest of a query finds. An unknown status finds nothing."""
    return found(parse(f'status:"{status}" {rest}' if status else rest))


def found(query: RunQuery) -> QuerySet[Run]:
    """The runs that a query finds; none for one that could not be understood."""
    return having_any_of(base(query), query.statuses)


def base(query: RunQuery) -> QuerySet[Run]:
    """The runs that a query finds, whatever their status: looks up agents, ages and texts once."""
    if query.problems:
        return Run.objects.none()
    runs = Run.objects.all()
    names = agents() if query.agent or query.text else []
    if query.agent:
        runs = runs.filter(agent__in=named(names, query.agent))
    if query.subject:
        runs = runs.filter(pk__in=about(query.subject))
    if query.ref:
        runs = runs.filter(ref__startswith=query.ref)
    if query.text:
        runs = runs.filter(_called(query.text, named(names, query.text)))
    if query.age is not None:
        runs = runs.filter(_older_than(query.age))
    return runs


def having_any_of(runs: QuerySet[Run], statuses: tuple[str, ...]) -> QuerySet[Run]:
    """Those of the runs that have one of these statuses; all where none is named."""
    if not statuses:
        return runs
    states = [STATES[status].value for status in statuses if status in STATES]
    reasons = [_waits(status) for status in statuses if status not in STATES]
    if not reasons:
        return runs.filter(state__in=states) if len(states) > 1 else runs.filter(state=states[0])
    if len(statuses) == 1:
        return runs.filter(Exists(reasons[0].filter(run=OuterRef("pk"))))
    ids = [waits.order_by().values("run_id") for waits in reasons]
    if states:
        ids.append(Run.objects.filter(state__in=states).order_by().values("pk"))  # type: ignore[arg-type]  # of ids, too
    return runs.filter(pk__in=ids[0].union(*ids[1:], all=True))


def having_any() -> Exists:
    """Whether a run has an open wait at all."""
    return Exists(Wait.objects.filter(run=OuterRef("pk"), state=WaitState.OPEN.value))


def _waits(status: str) -> QuerySet[Wait]:
    """The open waits that are a status: all of a kind stand together in `wait_open_by_kind`."""
    kinds = {STUCK: WaitKind.ATTENTION, IN_DOUBT: WaitKind.ATTENTION, HELD: WaitKind.HOLD}
    waits = Wait.objects.filter(state=WaitState.OPEN.value, kind=kinds.get(status, WaitKind.GATE).value)
    if status == IN_DOUBT:
        return waits.filter(name=Attention.IN_DOUBT.value)
    if status == EXPIRING:
        return waits.filter(deadline__lt=Tonight(Value(timezone.get_current_timezone_name())))
    assert status in (STUCK, WAITING, HELD), status
    return waits


def agents() -> list[str]:
    """The names of all agents that have ever run, in order."""
    with connection.cursor() as cursor:
        cursor.execute(_AGENTS, [AGENTS])
        return [name for (name,) in cursor.fetchall()]


def named(names: list[str], text: str) -> list[str]:
    """The agent of this name; where there is none, those whose names begin so. Capitals do not matter."""
    wanted = text.casefold()
    exact = [name for name in names if name.casefold() == wanted]
    return exact or [name for name in names if name.casefold().startswith(wanted)]


def subject_hashes(text: str) -> list[str]:
    """The keyed hashes under which effects about `text` are filed, whatever it is the name of."""
    kinds = {kind for tool in all_tools() for kind in tool.facts.subjects}
    try:
        return [keyed_hash(kind, text, settings.INTERLOCK_HASH_KEY) for kind in sorted(kinds)]
    except Invalid:
        return []


def about(text: str) -> QuerySet[Subject, int]:
    """The runs with an effect about `text`, by `subject_of_run`."""
    return Subject.objects.filter(hash__in=subject_hashes(text)).order_by().values_list("run_id", flat=True)


def _called(text: str, names: list[str]) -> Q:
    """Runs by the beginning of their id, by subject, or by agent: each has its own index, so they are looked up apart.

    An agent's name alone is asked for alone: it may have most of all runs, which no set of ids should hold.
    """
    begins = Run.objects.filter(ref__startswith=text).order_by()
    subject = about(text)
    ids = Q(pk__in=begins.values_list("pk", flat=True).union(subject, all=True))
    if not names:
        return ids
    elsewhere = Run.objects.filter(ids).order_by().values("pk")[:1].exists()
    return Q(agent__in=names) | ids if elsewhere else Q(agent__in=names)


def _older_than(age: timedelta) -> Q:
    """Runs older than an age: those up to an id, looked at closely, so that no newer ones are passed through."""
    values: dict[str, Any] = {"age": age}
    with connection.cursor() as cursor:
        cursor.execute(_BEFORE, values)
        last, moment = cursor.fetchone()
    return Q(pk__lte=last + _OUT_OF_ORDER, created_at__lt=moment)
