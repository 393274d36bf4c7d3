"""The text of a query is read again as the same query: by the next page, an export, a kept view and a legal hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from approvals import ledger_query, log_query, run_query
from approvals.typed import split, written

NOW = datetime(2026, 3, 29, 12, 0, tzinfo=UTC)
#: Pieces of which people make queries, the odd ones too.
PIECES = [
    "order:",
    "agent:",
    "actor:",
    "from:",
    "2026",
    "Re:",
    "run-0a:pay",
    "run-",
    "12:30",
    "ann",
    '"',
    " ",
    "  ",
]
TYPED = st.lists(st.sampled_from(PIECES) | st.text(alphabet='a: "-\t\u2028é', max_size=3), max_size=8).map(
    "".join
)


def ledger(text: str) -> Any:
    return ledger_query.parse(text, NOW)


@pytest.mark.parametrize("parse", [run_query.parse, ledger, log_query.parse])
@given(typed=TYPED)
@example(typed='"Re: invoice"')
@example(typed='"order run-0a:pay"')
@example(typed='a"b "Re: c"')
@example(typed="run-0a:pay 12:30")
def test_a_query_means_the_same_once_it_is_written_and_read_again(
    parse: Callable[[str], Any], typed: str
) -> None:
    query = parse(typed)
    if not query.problems:
        assert parse(str(query)) == query


@given(value=st.text(alphabet='ab: "-', min_size=1))
def test_a_value_with_quotes_and_spaces_is_written_such_that_it_is_read_whole(value: str) -> None:
    words = [word for word in split(written([("agent", value), ("tool", value)])) if word.whole]
    assert [(word.key, word.value) for word in words] == [("agent", value), ("tool", value)]


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ('"Re: invoice"', "Re: invoice"),
        ('"order:8812"', "order:8812"),
        ('"Re: ""urgent"" invoice"', 'Re: "urgent" invoice'),
        ('"order run-0a:pay"', "order run-0a:pay"),
        ("12:30", "12:30"),
        ("order 8812", "order 8812"),
    ],
)
def test_text_in_quotes_stays_text(typed: str, text: str) -> None:
    query = ledger(typed)
    assert (query.text, query.given, query.problems) == (text, (), ())
    assert str(query) == typed
    assert query.having(state="applied") == f"state:applied {typed}"


def test_who_types_a_colon_for_text_is_told_to_put_it_in_quotes() -> None:
    (problem,) = ledger("Re: invoice").problems
    assert problem.endswith("Put text that has a colon in quotes.")
