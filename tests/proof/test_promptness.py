"""How soon: what takes too long is a violation, and a stop order that nobody reads is seen to take too long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module
from threading import Thread
from typing import Any

import pytest
from django.db import connection

from durable import plan, runner, runs, stops
from durable.models import LedgerEvent
from durable.states import EventKind
from proof.promptness import measuring
from proof.races import unguarded

pytestmark = pytest.mark.process


@pytest.fixture
def busy(transactional_db: None) -> Iterator[str]:
    """The agent that acts and acts."""
    known = dict(plan.agents())
    agent = import_module("proof.promptness.agents").Busy
    plan._agents[agent.name] = agent
    yield agent.name
    plan._agents.clear()
    plan._agents.update(known)


def test_what_takes_longer_than_is_promised_is_a_violation() -> None:
    row = measuring.judged("a step starts", [3.0, 16.0, 1.0], 15.0, time.monotonic())
    assert (row.tried, row.violations) == (3, ("once it took 16.0 s, which is more than 15 s",))
    assert row.remark == "p50 3.00 s, p95 16.00 s, most 16.00 s; at most 15 s"
    assert measuring.judged("a step starts", [3.0], 15.0, time.monotonic()).sound


def test_a_promise_that_was_not_measured_is_not_kept() -> None:
    assert not measuring.judged("a step starts", [], 15.0, time.monotonic()).sound


@pytest.mark.parametrize("read", [True, False], ids=["read", "not read"])
def test_a_stop_order_that_is_not_read_takes_too_long(
    read: bool, busy: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.LEASE_SECONDS = timedelta(minutes=5)
    monkeypatch.setattr(measuring, "STOPPED", 0.5)
    intent = import_module("durable.ledger.intent")
    if not read:
        blind = unguarded.without(intent.INTENT, "NOT durable_stopped(f.agent, %(tool)s)", "true")
        monkeypatch.setattr(intent, "INTENT", blind)
    run = runs.start(busy, {}, actor="tests")
    worker = Thread(target=lambda: (runner.drive(run.ref), connection.close()))
    worker.start()
    intents = LedgerEvent.objects.filter(run_ref=run.ref, kind=EventKind.INTENT.value)
    try:
        while not intents.exists() and worker.is_alive():
            worker.join(0.05)
        order = stops.order("agent", busy, actor="tests", reason="to see how soon")
        took = measuring._last_after(order.at, intents)
    finally:
        runs.cancel(run.ref, actor="tests", reason="seen")
        worker.join(30)
    assert measuring.judged("a stop", [took], measuring.STOPPED, time.monotonic()).sound is read
