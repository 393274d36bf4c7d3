"""Which runs a query finds. One definition for a list's rows, its counts, its badge, and for bulk acts on it.

Each part has an index of its own: nothing here reads a table from end to end, however many runs there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import DateTimeField, Exists, Func, OuterRef, Q, QuerySet, Value
from django.utils import timezone

from approvals.queries import bisecting, pages, subjects
from approvals.run_query import EXPIRING, HELD, IN_DOUBT, STATES, STUCK, WAITING, RunQuery, parse
from durable.errors import Invalid
from durable.models import Run, Subject, Wait
from durable.states import Attention, WaitKind, WaitState
from durable.text import quoted

#: There are few agents; more than this are not offered or searched through.
AGENTS = 200

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

#: The last run that is older than an age. Around it each is looked at, as a few may be committed out of order: the last
#: older one, the first that is not, and those that are older and stand behind that one.
_OLDER = f"""
WITH place AS ({
    bisecting.PLACE.format(table="durable_run", column="created_at", moment="statement_timestamp() - %(age)s")
}), near AS MATERIALIZED (
    SELECT r.id, r.created_at < statement_timestamp() - %(age)s AS older FROM durable_run r, place
    WHERE r.id > place.id - %(around)s AND r.id <= place.id + %(around)s
), edge AS (SELECT max(id) FILTER (WHERE older) AS last, min(id) FILTER (WHERE NOT older) AS first FROM near)
SELECT coalesce(edge.last, place.id - %(around)s), edge.first,
       ARRAY(SELECT near.id FROM near WHERE older AND near.id > edge.first)
FROM edge, place
"""


class Tonight(Func):
    """The end of today in the zone of the pages, by the database's clock; one moment for a whole statement."""

    # The day is added to the clock on the wall: a day in which clocks change has no 24 hours.
    template = "((date_trunc('day', statement_timestamp() AT TIME ZONE (%(expressions)s))"
    arg_joiner = ")) + interval '1 day') AT TIME ZONE ("
    output_field = DateTimeField()


@dataclass(frozen=True, slots=True)
class Base:
    """What a query finds, whatever the status: `query`, with what can't be looked for among its problems; `runs`.

    `few` says that they are few enough to be read, one by one; `whole`, that it is every run there is.
    """

    query: RunQuery
    runs: QuerySet[Run]
    few: bool = False
    whole: bool = False


def filtered(status: str, rest: str = "") -> QuerySet[Run]:
    """The runs of one status, or all without one, that the rest of a query finds. An unknown status finds nothing."""
    query = parse(f'status:"{status}" {rest}' if status else rest)
    (runs,) = having_any_of(base(query).runs, query.statuses)
    return runs


def found(query: RunQuery) -> Sequence[QuerySet[Run]]:
    """The runs that a query finds, in parts; none for one that could not be understood."""
    return having_any_of(base(query).runs, query.statuses)


def ids(query: RunQuery, most: int) -> list[int]:
    """The numbers of the newest `most` runs that a query finds, the newest first. Raises Invalid for its problems."""
    ground = base(query)
    if ground.query.problems:
        raise Invalid("q", ground.query.problems[0].rstrip("."))
    cut = [
        part.order_by("-pk").values_list("pk", flat=True)[:most]
        for part in having_any_of(ground.runs, query.statuses)
    ]
    return list(cut[0] if len(cut) == 1 else cut[0].union(*cut[1:]).order_by("-id")[:most])


def base(query: RunQuery) -> Base:
    """The runs that a query finds, whatever their status: looks up agents, ages and texts once."""
    runs, few = Run.objects.all(), False
    everything = runs
    names = agents() if query.agent or query.text else []
    if query.agent:
        runs = runs.filter(agent__in=named(names, query.agent))
    if query.age is not None:
        runs = runs.filter(_older_than(query.age))
    if query.since or query.until:
        runs = runs.filter(_started(query.start, query.end))
    try:
        for part, of_few in _parts(query, names):
            runs, few = runs.filter(part), few or of_few
    except TooMany as found:
        query = replace(query, problems=(*query.problems, str(found)))
    if query.problems:
        return Base(query, Run.objects.none(), few)
    return Base(query, runs, few, whole=runs is everything)


def having_any_of(runs: QuerySet[Run], statuses: tuple[str, ...]) -> Sequence[QuerySet[Run]]:
    """Those of the runs that have one of these statuses, in a part for each; all where none is named."""
    return [_having(runs, status) for status in statuses] or [runs]


def counted(base: Base, statuses: tuple[str, ...]) -> pages.Listed | pages.Ids:
    """Those with one of these statuses, to be counted: of all runs, each time the same."""
    return of_all(statuses) if base.whole else having_any_of(base.runs, statuses)


def of_all(statuses: tuple[str, ...]) -> pages.Ids:
    """All runs with one of these statuses, to be counted; `expiring` until the day of the reader's zone ends."""
    return _of_all(statuses, timezone.get_current_timezone_name())


@lru_cache(maxsize=1_000)
def _of_all(statuses: tuple[str, ...], zone: str) -> pages.Ids:
    with timezone.override(zone):
        return pages.Ids.of(having_any_of(Run.objects.all(), statuses))


def _having(runs: QuerySet[Run], status: str) -> QuerySet[Run]:
    if status in STATES:
        return runs.filter(state=STATES[status].value)
    return runs.filter(Exists(_waits(status).filter(run=OuterRef("pk"))))


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
        zone = timezone.get_current_timezone_name()
        return waits.filter(deadline__lt=Tonight(Value(zone), Value(zone)))
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


class TooMany(Exception):
    """What was typed is the beginning of too many ids; the words are for the person who typed it."""


def _parts(query: RunQuery, names: list[str]) -> Iterator[tuple[Q, bool]]:
    """What a query's subject, id and text ask for, and whether that are few runs. Raises TooMany.

    They are looked up first, in one query, each by an index of its own: joined in, the server would rather walk through
    all runs from the newest back.
    """
    texts = [query.subject, query.text, query.ref, query.text]
    looked = [_about(text) for text in texts[:2]] + [
        Run.objects.filter(ref__startswith=text) for text in texts[2:]
    ]
    asked = [text for text in texts if text]
    sought = [
        (found, "pk" if found.model is Run else "run_id")
        for text, found in zip(texts, looked, strict=True)
        if text
    ]
    ids = iter(pages.few(*sought) if asked else [])
    subject, about, ref, begins = (next(ids) if text else [] for text in texts)
    for text, found in ((query.ref, ref), (query.text, begins)):
        if found is None:
            told = f"The ids of more than {pages.COUNTED:,} runs begin with {quoted(text)}: type more of it."
            raise TooMany(told)
    if query.subject:
        yield _among(subject, query.subject), subject is not None
    if query.ref:
        yield _among(ref, ""), True
    if query.text:
        yield from _called(query.text, named(names, query.text), about, begins or [])


def _called(
    text: str, agents: list[str], about: list[int] | None, begins: list[int]
) -> Iterator[tuple[Q, bool]]:
    """Runs by subject, by the beginning of their id, or by agent.

    An agent's name alone is asked for alone: it may have most of all runs, which no set of ids should hold.
    """
    ids = _among(None, text) | _among(begins, "") if about is None else _among([*about, *begins], "")
    if not agents:
        yield ids, about is not None
    else:
        called = Q(agent__in=agents)
        yield called | ids if begins or about is None or about else called, False


def _among(ids: list[int] | None, text: str) -> Q:
    """These runs; where there are too many to be named, all with an effect about a text."""
    return Q(pk__in=_about(text)) if ids is None else Q(pages.Among("pk", ids))


def _about(text: str) -> QuerySet[Subject, int]:
    """The runs with an effect about `text`, by `subject_of_run`."""
    return Subject.objects.filter(hash__in=subjects.hashes(text)).order_by().values_list("run_id", flat=True)


def _started(start: datetime | None, end: datetime | None) -> Q:
    """Runs that started between two moments, said of their ids as well: so nothing newer or older is passed through."""
    moments = [moment for moment in (start, end) if moment is not None]
    last = bisecting.last_before("durable_run", "created_at", moments)
    found = Q()
    if start is not None:
        found &= Q(created_at__gte=start, pk__gt=last[start] - bisecting.OUT_OF_ORDER)
    if end is not None:
        found &= Q(created_at__lt=end, pk__lte=last[end] + bisecting.OUT_OF_ORDER)
    return found


def _older_than(age: timedelta) -> Q:
    """Runs older than an age, told by their ids alone: those every index of the list holds."""
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"age": age, "around": bisecting.OUT_OF_ORDER}
        cursor.execute(_OLDER, values)
        last, first_younger, late = cursor.fetchone()
    return Q(pk__lte=last) & (Q(pk__lt=first_younger) | Q(pk__in=late)) if late else Q(pk__lte=last)
