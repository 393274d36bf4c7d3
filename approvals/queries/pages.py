"""Keyset pages of 50 and counts that stay exact to 10,000."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import BooleanField, Count, F, Func, QuerySet, Value

PAGE = 50
COUNTED = 10_000

Row = dict[str, Any]
#: A list's rows, or, in parts that may overlap, those of any of them: each part goes through an index of its own.
Listed: TypeAlias = QuerySet[Any, Any] | Sequence[QuerySet[Any, Any]]


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of one page, newest first, with cursors to its neighbours: arriving rows shift nothing."""

    rows: list[Row]
    newer: str
    older: str

    def context(self, total: int) -> dict[str, Any]:
        """What `_pages.html` shows."""
        return {"newer": self.newer, "older": self.older, "shown": len(self.rows), "total": words(total)}


@dataclass(frozen=True, slots=True)
class Ids:
    """A list to be counted that is always the same: as SQL, since the ORM takes longer over it than the server."""

    sql: str
    values: tuple[Any, ...]

    @classmethod
    def of(cls, found: Listed) -> Ids:
        """What counts a list."""
        sql, values = _ids(found)
        return cls(sql, tuple(values))


def cursor(text: str | None) -> int | None:
    """A cursor from an address; None for nothing and for nonsense, which shows the first page."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else None


class Among(Func):
    """Whether a number is among these, however many, as one parameter: `filter(Among("pk", ids))`.

    A walk through an index for exactly these: a subquery would let the server guess where they lie.
    """

    template = "(%(expressions)s::bigint[]))"
    arg_joiner = " = ANY("
    output_field = BooleanField()

    def __init__(self, name: str, numbers: Sequence[int]) -> None:
        super().__init__(F(name), Value(list(numbers)))


def parts(found: Listed) -> Sequence[QuerySet[Any, Any]]:
    """The parts of a list; of one that has none, the list itself."""
    return [found] if isinstance(found, QuerySet) else found


def page(found: Listed, *, after: int | None, before: int | None) -> Page:
    """One page of rows with an `id`, by descending id. `after` continues towards older rows, `before` towards newer."""
    if before is not None:
        ascending = _first([part.filter(pk__gt=before) for part in parts(found)], "")
        rows, more_newer, more_older = ascending[:PAGE][::-1], len(ascending) > PAGE, True
    else:
        rows = _first([part if after is None else part.filter(pk__lt=after) for part in parts(found)], "-")
        more_newer, more_older = after is not None, len(rows) > PAGE
        rows = rows[:PAGE]
    if not rows:
        return Page([], "", "")
    return Page(rows, str(rows[0]["id"]) if more_newer else "", str(rows[-1]["id"]) if more_older else "")


def _first(found: Sequence[QuerySet[Any, Row]], way: str) -> list[Row]:
    """One row more than a page has, of all parts together; a row of several parts once."""
    cut = [part.order_by(f"{way}pk")[: PAGE + 1] for part in found]
    return list(cut[0] if len(cut) == 1 else cut[0].union(*cut[1:]).order_by(f"{way}id")[: PAGE + 1])


def count(found: Listed) -> int:
    """How many there are; COUNTED + 1 stands for more, so that a large table costs no more than a small one."""
    return counts([found])[0]


def counts(found: Sequence[Listed | Ids], few: QuerySet[Any, Any] | None = None, *states: str) -> list[int]:
    """`count` for several lists in one query; then, of a few rows that are read once, how many are in each state."""
    results = [0] * (len(found) + len(states))
    asked: list[str] = []
    values: list[Any] = []
    places: list[int] = []
    for place, one in enumerate(found):
        sql, params = (one.sql, one.values) if isinstance(one, Ids) else _ids(one)
        if sql:
            asked.append(f"(SELECT count(*) FROM ({sql}) AS list_{place})")
            values += params
            places.append(place)
    before = ""
    if few is not None:
        with suppress(EmptyResultSet):
            rows, given = few.order_by().values("state").query.sql_with_params()
            before = f"WITH few AS MATERIALIZED ({rows}) "
            asked += ["(SELECT count(*) FROM few WHERE state = %s)"] * len(states)
            places += range(len(found), len(results))
            values = [*given, *values, *states]
    if asked:
        with connection.cursor() as cursor:
            cursor.execute(f"{before}SELECT {', '.join(asked)}", values)
            for place, number in zip(places, cursor.fetchone(), strict=True):
                results[place] = number
    return results


def _ids(found: Listed) -> tuple[str, list[Any]]:
    """SQL for the ids of a list, as far as they are counted; empty where nothing can be in it."""
    texts: list[str] = []
    values: list[Any] = []
    for part in parts(found):
        try:
            sql, params = part.order_by().values("pk")[: COUNTED + 1].query.sql_with_params()
        except EmptyResultSet:
            continue
        texts.append(sql)
        values += params
    if len(texts) < 2:
        return "".join(texts), values
    return f"{' UNION '.join(f'({text})' for text in texts)} LIMIT {COUNTED + 1}", values


def by_state(few: QuerySet[Any, Any]) -> dict[str, int]:
    """How many of a few rows are in which state, in one query that reads each of them."""
    return dict(few.order_by().values_list("state").annotate(number=Count("pk")))


def few(*found: tuple[QuerySet[Any, Any], str]) -> list[list[int] | None]:
    """The ids (a queryset, and its column of them) of lists that are short enough to be counted; None for a longer one.

    One query for all of them. An id that stands in a list twice is returned once, and counts twice against its length.
    """
    cut = [
        one.order_by().values_list(Value(place), name)[: COUNTED + 1]
        for place, (one, name) in enumerate(found)
    ]
    ids: list[list[int]] = [[] for _ in found]
    for place, number in cut[0].union(*cut[1:], all=True) if len(cut) > 1 else cut[0]:
        ids[place].append(number)
    return [list(dict.fromkeys(numbers)) if len(numbers) <= COUNTED else None for numbers in ids]


def over(rows: QuerySet[Any, Any], query: str) -> list[tuple[Any, ...]]:
    """Ask something of rows, ordered and cut off as they are: `query` names them as {rows}. They are read once."""
    try:
        sql, params = rows.query.sql_with_params()
    except EmptyResultSet:
        return []
    with connection.cursor() as cursor:
        cursor.execute(query.format(rows=sql), params)
        return list(cursor.fetchall())


def words(number: int) -> str:
    """A count for the eye: 1,284, or 10,000+."""
    return f"{COUNTED:,}+" if number > COUNTED else f"{number:,}"


def version(*shown: object) -> str:
    """A short, opaque name of what a fragment shows: equal names, equal fragments."""
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]
