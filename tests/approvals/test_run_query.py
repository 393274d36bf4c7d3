"""The query of the runs list: what people may type, and what they are told of a mistake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from approvals.run_query import STATES, RunQuery, parse
from durable.states import RunState

NOW = datetime(2026, 3, 29, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", RunQuery()),
        ("  ", RunQuery()),
        ("status:stuck", RunQuery(statuses=("stuck",))),
        ("Status:STUCK", RunQuery(statuses=("stuck",))),
        ("status:failed,stuck,failed", RunQuery(statuses=("failed", "stuck"))),
        ('status:"partly compensated"', RunQuery(statuses=("partly-compensated",))),
        ("status:gate", RunQuery(statuses=("waiting",))),
        ('agent:"Refund Desk" older-than:2d', RunQuery(agent="Refund Desk", older_than="2d")),
        ("from:2026-03 to:today", RunQuery(since="2026-03", until="today")),
        ("subject:8812 ref:run-0a", RunQuery(subject="8812", ref="run-0a")),
        ("order 8812", RunQuery(text="order 8812")),
        ("run-abc:pay#2", RunQuery(text="run-abc")),
        ("run-0k3:pay", RunQuery(text="run-0k3")),
    ],
)
def test_a_query_is_read_as_it_is_meant(text: str, found: RunQuery) -> None:
    assert parse(text, NOW) == found
    assert parse(str(found), NOW) == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("older-than:soon", "older-than: must be like 30m, 4h or 2d, not “soon”."),
        ("older-than:999999w", "older-than: must be like 30m, 4h or 2d, not 999999w."),
        ("from:soon", "from: must be like 2026, 2026-03, 2026-03-09 or today, not “soon”."),
        ("from:2026-03 to:2026-02", "from: 2026-03 is later than 2026-02; nothing can be in between."),
        ("status:foo", "status: there is no “foo”; it is one of stuck, waiting"),
        ("status:,", "status: there is no “,”;"),
        (
            "owner:me",
            "Runs are not found by owner:. Use status, agent, subject, older-than, from, to or ref.",
        ),
        ("agent: RefundDesk", "agent: needs a value after the colon"),
        ("ref:a ref:b", "ref: stands twice; keep one."),
        ("status:failed status:stuck", "write status:failed,failing"),
    ],
)
def test_a_mistake_in_a_query_is_told_in_words(text: str, told: str) -> None:
    assert told in " ".join(parse(text).problems)


def test_a_query_can_ask_for_every_state_of_a_run() -> None:
    for state in RunState:
        assert parse(f'status:"{state.value}"').problems == ()
    assert set(STATES.values()) == set(RunState)


def test_an_age_counts_minutes_hours_days_and_weeks() -> None:
    ages = [parse(f"older-than:{text}").age for text in ("30m", "4h", "2d", "1w")]
    assert ages == [timedelta(minutes=30), timedelta(hours=4), timedelta(days=2), timedelta(weeks=1)]


def test_a_part_can_be_taken_away_or_put_in_the_place_of_another() -> None:
    query = parse("status:stuck agent:RefundDesk 8812")
    assert str(query.of("failed")) == "status:failed agent:RefundDesk 8812"
    assert [str(query.without(key)) for key, _ in query.parts] == [
        "agent:RefundDesk 8812",
        "status:stuck 8812",
        "status:stuck agent:RefundDesk",
    ]
