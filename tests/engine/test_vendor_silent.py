"""A vendor that can't say for hours: one alert, ever fewer questions, nobody is asked, and all settle afterwards."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from durable import reconcile, recovery, sending
from durable.author import (
    Absent,
    Budget,
    Call,
    CannotSay,
    LookupAnswer,
    Money,
    Next,
    Receipt,
    RunContext,
    seconds,
    step,
    tool,
)
from durable.models import Effect, LedgerEvent, Run, Wait
from tests.engine import agents, desk
from tests.engine.held import check_chains, check_purses

pytestmark = pytest.mark.django_db(transaction=True)
RUNS = 50


class Bank:
    """It acts, honours no key, and loses its answers; while it is down it can't say what it did."""

    def __init__(self) -> None:
        self.empty()

    def empty(self) -> None:
        """As at the beginning: down, with nothing in its book."""
        self.down = True
        self.book: dict[str, Receipt] = {}
        self.sends: Counter[str] = Counter()
        self.looks: Counter[str] = Counter()


bank = Bank()


@tool(vendor="silent bank", money="amount", in_flight=seconds(5), lookup_lag=seconds(5))
def move(call: Call, order: str, amount: Decimal, currency: str) -> Receipt:
    """Act, and lose the answer."""
    bank.sends[call.key] += 1
    bank.book[call.key] = Receipt(f"mv_{call.key}", amount=amount, currency=currency, key=call.key)
    raise TimeoutError("no answer")


@move.lookup
def find(call: Call) -> LookupAnswer:
    """Say what happened, when it can."""
    bank.looks[call.key] += 1
    if bank.down:
        raise CannotSay("503")
    return bank.book.get(call.key, Absent())


@move.undo
def move_back(call: Call) -> Receipt:
    """Nothing here takes anything back; the undo only keeps the gate away."""
    raise NotImplementedError


@step
def pay(self: Any, run: RunContext) -> Next:
    """Move 40."""
    run.effect(move, order="1", amount=Decimal(40), currency="EUR")
    return None


@pytest.fixture(autouse=True)
def _bank(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sending, "SHORT", timedelta(0))  # no pause is slept through in place
    bank.empty()
    recovery._told.clear()
    yield
    check_purses()
    check_chains()


def passes(runs: list[Run], *minutes: float) -> None:
    """Let so much time pass, and again; each time the sweeper sweeps, and workers drive what is due."""
    for length in minutes:
        desk.time_passes(minutes=length)
        recovery.sweep()
        for run in runs:
            desk.drive(run)


def alerts(caplog: pytest.LogCaptureFixture, word: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if word in record.getMessage()]


def started(count: int) -> list[Run]:
    agents.define("Mover", pay, budget=Budget(money=Money(100, "EUR")))
    return [desk.drive(agents.start("Mover")) for _ in range(count)]


def test_fifty_effects_whose_vendor_is_silent_for_two_hours_settle_by_themselves(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs = started(RUNS)
    passes(runs, 0.1, 0.2, 0.5, 20, 100)
    assert set(Effect.objects.values_list("state", flat=True)) == {"pending"}, "no outcome changed"
    assert not Wait.objects.filter(state="open", kind="attention").exists(), "nobody is asked"
    (alert,) = alerts(caplog, "can't say")
    assert "silent bank" in alert
    assert recovery.silent()["silent bank"][0] == RUNS
    told = {run.ref: {e.kind for e in LedgerEvent.objects.filter(run_ref=run.ref)} for run in runs}
    assert not any(kinds & {"failed", "in doubt", "adopted"} for kinds in told.values())
    bank.down = False
    passes(runs, 6, 6)
    assert {run.state for run in runs} == {"completed"}
    assert bank.sends == dict.fromkeys(bank.book, 1) and len(bank.book) == RUNS
    applied = LedgerEvent.objects.filter(kind="adopted").values_list("body", flat=True)
    assert sum(json.loads(body)["amount_minor"] for body in applied) == RUNS * 4_000
    assert recovery.silent() == {}
    assert len(alerts(caplog, "can't say")) == len(alerts(caplog, "no effect waits any more")) == 1


def test_an_effect_whose_vendor_is_silent_is_asked_about_ever_more_rarely() -> None:
    runs = started(1)
    passes(runs, *[2] * 60)
    (asked,) = bank.looks.values()
    assert 120 * 60 / reconcile._LONGEST_PAUSE <= asked <= 60, (
        "at most every other minute, at least every five"
    )


def test_an_effect_in_doubt_whose_vendor_speaks_again_settles_too() -> None:
    """It was put before a person by then; that nobody had answered does not matter."""
    runs = started(3)
    passes(runs, 60, 200, 10)
    assert set(Effect.objects.values_list("state", flat=True)) == {"in doubt"}
    bank.down = False
    passes(runs, 6, 6)
    assert {run.state for run in runs} == {"completed"}
    assert not Wait.objects.filter(state="open").exists()
    assert bank.sends == dict.fromkeys(bank.book, 1)
