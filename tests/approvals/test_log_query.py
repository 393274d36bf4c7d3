"""The query of the log: what people type is what the address says, and what is wrong with it is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from approvals.log_query import KINDS, REFUSALS, LogQuery, parse
from durable.states import COURSE, ActKind, EventKind


@pytest.mark.parametrize(
    ("typed", "means"),
    [
        ("", LogQuery()),
        ("marta", LogQuery(actor="marta")),
        ("run-1abc", LogQuery(about="run-1abc")),
        ("run-1abc:pay@2", LogQuery(about="run-1abc:pay@2")),
        ("about:run-1abc:pay", LogQuery(about="run-1abc:pay")),
        ("about:person:marta ACTOR:ada", LogQuery(actor="ada", about="person:marta")),
        ("kind:Roles-Changed,approved,approved", LogQuery(kinds=("roles-changed", "approved"))),
        ('actor:"customer desk"', LogQuery(actor="customer desk")),
        ("from:2026-01-01 to:2026-01-31T12:30 only:PEOPLE",
         LogQuery(since="2026-01-01", until="2026-01-31T12:30", only="people")),
    ],
)  # fmt: skip
def test_what_is_typed_is_understood_and_can_be_typed_again(typed: str, means: LogQuery) -> None:
    assert parse(typed) == means
    assert parse(str(means)) == means


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("agent:x", "not found by agent:"),
        ("actor:", "needs a value"),
        ("actor:a marta", "stands twice"),
        ("kind:shipped", "there is no “shipped”"),
        ("kind:,", "names none"),
        ("kind:sent", "there is no “sent”"),
        ("from:whenever", "must be a day"),
        ("to:2026-02-30", "must be a day"),
        ("from:2026-02-02 to:2026-02-01", "must not lie before"),
        ("to:9999-12-31", "must be a day"),
        ("only:robots", "must be people, machines or refused"),
    ],
)
def test_what_cannot_be_understood_is_told_in_a_sentence(typed: str, told: str) -> None:
    (problem,) = parse(typed).problems
    assert told in problem and problem.endswith(".")


def test_a_day_is_meant_whole_and_a_minute_too() -> None:
    query = parse("from:2026-01-01 to:2026-01-31")
    assert (query.begins, query.ends) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC))
    moment = datetime(2026, 1, 31, 14, 30, tzinfo=UTC)
    assert parse("to:2026-01-31T14:30").ends == moment + timedelta(minutes=1)
    assert parse("to:2026-01-31T14:30:05").ends == moment + timedelta(seconds=6)
    assert parse("from:2026-01-31T14:30").begins == moment


def test_a_day_on_which_the_clocks_change_is_meant_whole_in_the_readers_zone() -> None:
    with timezone.override(ZoneInfo("Europe/Berlin")):
        query = parse("from:2026-10-25 to:2026-10-25")
        assert query.begins is not None and query.ends is not None
        assert query.ends - query.begins == timedelta(hours=25)
        assert query.begins == datetime(2026, 10, 24, 22, tzinfo=UTC)
        twice = parse("from:2026-10-25T02:30 to:2026-10-25T02:30")
        assert (twice.begins, twice.ends) == (
            datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
            datetime(2026, 10, 25, 1, 31, tzinfo=UTC),
        )


def test_the_kinds_are_those_of_acts_and_no_others() -> None:
    assert set(KINDS.values()) == {kind.value for kind in EventKind if kind not in COURSE} | {
        kind.value for kind in ActKind
    }
    assert {kind for kind in KINDS.values() if "refused" in kind} == set(REFUSALS)


def test_only_what_was_refused_narrows_the_kinds() -> None:
    assert parse("only:refused").stored_kinds == list(REFUSALS)
    assert parse("only:refused kind:refused,approved").stored_kinds == ["refused"]
    assert parse("only:refused kind:approved").stored_kinds == []
    assert parse("").stored_kinds is None
