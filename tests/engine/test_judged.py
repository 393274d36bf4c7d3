"""The rule of reconciling: what a look-up says, and what time, the tool's facts and a receipt's marks make of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from durable import reconcile
from durable.errors import CannotSay
from durable.ledger import Ask, Place
from durable.models import Effect
from durable.reconcile import Adopt, Doubt, LookAgain, SendAgain, judge, mismatch
from durable.vendor import Absent, Candidates, Receipt
from tests.engine import tools

ARGS = {"charge": "ch_1", "amount": Decimal("40.00")}
RECEIPT = Receipt("re_1", Decimal("40.00"), "EUR", target="ch_1", key="run-t:pay")
STRANGER = Receipt("re_2", Decimal("40.00"), "EUR")
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def sent(ago: timedelta, **more: Any) -> Effect:
    """An effect whose one request began so long ago; it had ten seconds."""
    at = NOW - ago
    columns = {"key": "run-t:pay", "sends": 1, "open_sends": 1, "recorded_at": at, "first_sent_at": at}
    return Effect(**{**columns, "last_sent_at": at, "send_by": at + timedelta(seconds=10), **more})


def verdict(tool: Any, answer: Any, ago: timedelta, *, may_send: bool = True, **more: Any) -> Any:
    ask = Ask.of(tool, ARGS, Place("pay", 1, 1))
    return judge(sent(ago, **more), ask, answer, NOW, may_send=may_send)


SECONDS, HOURS = timedelta(seconds=1), timedelta(hours=1)
OURS = Candidates((RECEIPT, RECEIPT))
THEIRS = Candidates((STRANGER,))
MUTE = CannotSay("away")


@pytest.mark.parametrize(
    ("tool", "answer", "ago", "follows"),
    [
        (tools.keyed, RECEIPT, SECONDS, Adopt),
        (tools.unkeyed, RECEIPT, 100 * HOURS, Adopt),
        (tools.keyed, replace(RECEIPT, amount=Decimal("41.00")), SECONDS, Doubt),
        (tools.keyed, Absent(), SECONDS, SendAgain),
        (tools.keyed, MUTE, SECONDS, SendAgain),
        (tools.keyed, None, SECONDS, SendAgain),
        (tools.keyed, Absent(), 12 * HOURS - SECONDS, SendAgain),
        (tools.keyed, Absent(), 12 * HOURS, Doubt),
        (tools.keyed, MUTE, 12 * HOURS, Doubt),
        (tools.keyed_briefly, Absent(), timedelta(minutes=7, seconds=29), SendAgain),
        (tools.keyed_briefly, Absent(), timedelta(minutes=7, seconds=30), Doubt),
        (tools.keyed, OURS, SECONDS, Doubt),
        (tools.keyed, THEIRS, SECONDS, Doubt),
        (tools.unkeyed, THEIRS, HOURS, Doubt),
        (tools.unkeyed, Absent(), 44 * SECONDS, LookAgain),
        (tools.unkeyed, Absent(), 45 * SECONDS, Doubt),
        (tools.unkeyed, MUTE, 4 * HOURS - SECONDS, LookAgain),
        (tools.unkeyed, MUTE, 4 * HOURS, Doubt),
        (tools.opaque, None, SECONDS, Doubt),
    ],
    ids=lambda value: getattr(value, "name", None) or str(value)[:30],
)
def test_what_a_look_up_says_is_weighed_against_time_and_facts(
    tool: Any, answer: Any, ago: timedelta, follows: type
) -> None:
    assert isinstance(verdict(tool, answer, ago), follows)


@pytest.mark.parametrize("answer", [Absent(), MUTE, None], ids=str)
def test_a_saved_error_ends_repeats(answer: Any) -> None:
    assert not isinstance(verdict(tools.keyed, answer, SECONDS, error_saved=True), SendAgain)


@pytest.mark.parametrize("answer", [Absent(), MUTE, None], ids=str)
def test_a_run_that_is_to_stop_sends_nothing_again(answer: Any) -> None:
    assert not isinstance(verdict(tools.keyed, answer, SECONDS, may_send=False), SendAgain)


def test_a_repeat_waits_longer_each_time_counted_from_the_last_send() -> None:
    pauses = [verdict(tools.keyed, None, timedelta(0), sends=n).pause for n in range(1, 6)]
    assert pauses[0] == timedelta(0)
    for n, pause in enumerate(pauses[1:], 1):
        assert 0.25 * 2**n <= pause.total_seconds() <= 0.5 * 2**n
    assert verdict(tools.keyed, None, HOURS, sends=20).pause == timedelta(0)


def test_no_pause_is_longer_than_five_minutes() -> None:
    assert max(reconcile.pause(n) for n in range(100)) <= timedelta(minutes=5)


# The receipt: one mark of another act is enough against it.

KEY = "run-t:pay"
_ASK = Ask.of(tools.keyed, ARGS, Place("pay", 1, 1))
ASK = replace(_ASK, facts=replace(_ASK.facts, account="acct_1"))
UNDO = replace(ASK, undo_of=Effect())
MARKED = Receipt("re_1", Decimal("40.00"), "EUR", "ch_1", "acct_1", KEY)


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ({"key": "run-t:pay#2"}, "another key"),
        ({"currency": "USD"}, "the currency is “USD”, not EUR"),
        ({"amount": Decimal("40.01")}, "the amount is 40.01"),
        ({"amount": Decimal("40.001")}, "the amount is 40.001"),
        ({"amount": None}, "names no amount"),
        ({"target": "ch_2"}, "the target is another one"),
        ({"account": "acct_2"}, "the vendor account is another one"),
    ],
    ids=str,
)
def test_a_receipt_that_bears_another_mark_is_not_the_effects(mark: dict[str, Any], why: str) -> None:
    assert why in mismatch(ASK, replace(MARKED, **mark), KEY)


@pytest.mark.parametrize("absent", ["key", "currency", "target", "account"])
def test_a_receipt_that_does_not_show_a_mark_is_not_refused_for_it(absent: str) -> None:
    marks: dict[str, Any] = {absent: None}
    assert mismatch(ASK, replace(MARKED, **marks), KEY) == ""


def test_a_currency_is_the_same_in_small_letters() -> None:
    assert mismatch(ASK, replace(MARKED, currency="eur"), KEY) == ""


def test_the_receipt_of_an_undo_may_name_another_target_and_no_amount_but_no_other_amount() -> None:
    assert mismatch(UNDO, replace(MARKED, target="re_9", amount=None), KEY) == ""
    assert "the amount is 39" in mismatch(UNDO, replace(MARKED, target="re_9", amount=Decimal("39.00")), KEY)
