"""The query of the ledger: what people may type, and what they are told of a mistake."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.utils import timezone

from approvals import days
from approvals.ledger_query import KEYS, STATES, Amounts, Part, parse, part
from durable.states import EffectState

NOW = datetime(2026, 3, 29, 12, 0, tzinfo=UTC)


def given(text: str) -> dict[str, str]:
    query = parse(text, NOW)
    assert query.problems == (), query.problems
    assert parse(str(query), NOW) == query
    return dict(query.given) | ({"": query.text} if query.text else {})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("tool:refund vendor:stripe", {"tool": "refund", "vendor": "stripe"}),
        ("Customer:cus_1", {"customer": "cus_1"}),
        ('agent:"Refund Desk" decided-by:marta', {"agent": "Refund Desk", "decided-by": "marta"}),
        ("currency:eur", {"currency": "EUR"}),
        ("state:APPLIED,in-doubt", {"state": "applied,in-doubt"}),
        ('state:"in doubt"', {"state": "in-doubt"}),
        ("undo:NO tool:refund", {"tool": "refund", "undo": "no"}),
        ("run-0k3:pay@2#2", {"": "run-0k3:pay@2#2"}),
        ("order 8812", {"": "order 8812"}),
        ("from:2025 to:2025-03 8812", {"from": "2025", "to": "2025-03", "": "8812"}),
    ],
)
def test_a_query_is_read_as_it_is_meant(text: str, found: dict[str, str]) -> None:
    assert given(text) == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("amount:184,50", "amount: must be like 184.50"),
        ("amount:..", "amount: must be like 184.50"),
        ("amount:20..10", "amount: 20 is more than 10"),
        ("amount:1e9", "amount: must be like"),
        ("currency:XYZ", "there is no “XYZ”"),
        ("state:gone", "state: there is no “gone”; it is one of gated"),
        ("undo:maybe", "undo: must be yes or no, not “maybe”."),
        ("from:soon", "from: must be like 2026"),
        ("to:2026-02-30", "to: must be like 2026"),
        ("from:2026-02 to:2026-01", "from: 2026-02 is later than 2026-01"),
        ("owner:me", "Effects are not found by owner:. Use customer, order, subject"),
        ("tool: refund", "tool: needs a value after the colon"),
        ("tool:a tool:b", "tool: stands twice; keep one."),
        ("state:failed state:applied", "write state:applied,in-doubt"),
        ("customer:*", "customer: needs letters or digits beside the star."),
    ],
)
def test_a_mistake_in_a_query_is_told_in_words(text: str, told: str) -> None:
    assert told in " ".join(parse(text, NOW).problems)


def test_a_query_can_ask_for_every_state_of_an_effect() -> None:
    for state in EffectState:
        assert parse(f'state:"{state.value}"', NOW).problems == ()
    assert set(STATES.values()) == set(EffectState)


def test_kinds_of_subjects_that_tools_declare_are_keys_too() -> None:
    assert "parcel" not in KEYS
    assert parse("parcel:9", NOW).problems
    assert dict(parse("parcel:9", NOW, ["parcel"]).given) == {"parcel": "9"}


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("ann", Part("ann", True, True)),
        ("ann*", Part("ann", True, False)),
        ("*ann", Part("ann", False, True)),
        ("*ann*", Part("ann", False, False)),
    ],
)
def test_stars_say_which_part_of_a_name_is_meant(value: str, meant: Part) -> None:
    assert part(value) == meant


@pytest.mark.parametrize(
    ("text", "decimals", "minor"),
    [
        ("184.50", 2, (18450, 18450)),
        ("184.5", 3, (184500, 184500)),
        ("184.50", 0, None),
        ("100..200", 2, (10000, 20000)),
        (">100", 2, (10001, 2**53)),
        (">=100", 0, (100, 2**53)),
        ("<20", 2, (0, 1999)),
        ("<=0.5", 0, (0, 0)),
        (">0.5", 0, (1, 2**53)),
        ("0.5..1.5", 0, (1, 1)),
        ("..3", 3, (0, 3000)),
    ],
)
def test_an_amount_is_exact_in_every_currency(
    text: str, decimals: int, minor: tuple[int, int] | None
) -> None:
    amounts = parse(f"amount:{text}", NOW).amounts
    assert amounts is not None
    assert amounts.minor(decimals) == minor


def test_amounts_know_their_bounds() -> None:
    assert parse("amount:10..20", NOW).amounts == Amounts(Decimal(10), Decimal(20))


@pytest.mark.parametrize(
    ("zone", "text", "start", "end"),
    [
        ("UTC", "2026-03-29", "2026-03-29T00:00Z", "2026-03-30T00:00Z"),
        # Clocks go forward on that day: it has 23 hours.
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00Z", "2026-03-29T22:00Z"),
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00Z", "2026-10-25T23:00Z"),
        ("Asia/Kolkata", "2026-03", "2026-02-28T18:30Z", "2026-03-31T18:30Z"),
        # Midnight does not exist there on that day: it begins at one o'clock.
        ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00Z", "2026-04-24T21:00Z"),
        ("America/St_Johns", "2025", "2025-01-01T03:30Z", "2026-01-01T03:30Z"),
        ("Pacific/Auckland", "today", "2026-03-29T11:00Z", "2026-03-30T11:00Z"),
        # That half hour was there twice: both are meant.
        ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30Z", "2026-10-25T01:31Z"),
    ],
)
def test_a_day_is_the_readers_whole_day_across_clock_changes(
    zone: str, text: str, start: str, end: str
) -> None:
    with timezone.override(zone):
        found = days.read(text, NOW)
    assert found is not None
    assert [f"{moment:%Y-%m-%dT%H:%MZ}" for moment in (found.start, found.end)] == [start, end]


def test_both_ends_of_a_time_are_in_it() -> None:
    with timezone.override("Europe/Berlin"):
        query = parse("from:2026-03-28 to:2026-03-29", NOW)
    assert (query.start, query.end) == (
        datetime(2026, 3, 27, 23, tzinfo=UTC),
        datetime(2026, 3, 29, 22, tzinfo=UTC),
    )


def test_a_part_can_be_taken_away_or_put_in_the_place_of_another() -> None:
    query = parse("tool:refund state:applied 8812", NOW)
    assert query.without("tool") == "state:applied 8812"
    assert query.without("") == "tool:refund state:applied"
    assert query.having(state="in-doubt") == "tool:refund state:in-doubt 8812"
    assert query.having(state="", decided_by="marta") == "tool:refund decided-by:marta 8812"
