"""A run from its start to its end."""

from __future__ import annotations

from decimal import Decimal

import pytest

from durable import claims, journal
from durable.models import Checkpoint, Message
from durable.states import RunState
from tests.engine import desk
from tests.vendors import Vendor

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_small_refund_runs_through_and_moves_the_money_once(vendor: Vendor) -> None:
    desk.order(vendor)
    run = desk.drive(desk.start())
    assert run.error == ""
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == [Decimal("40.00")]
    assert desk.effects(run) == {"pay": "applied"}
    assert run.result is not None and run.result["told"] is False
    kinds = [event.kind for event in journal.events(run.ref)]
    assert kinds == ["started", "intent", "sent", "applied", "completed"]
    assert list(Checkpoint.objects.filter(run=run).order_by("version").values_list("kind", flat=True)) == [
        "start",
        "step",
        "step",
        "end",
    ]
    assert Message.objects.filter(branch=run.branch).count() == 4


def test_a_refund_above_a_hundred_waits_for_people(vendor: Vendor) -> None:
    desk.order(vendor, amount="184.50")
    run = desk.drive(desk.start())
    assert run.state == RunState.SUSPENDED
    assert desk.effects(run) == {"pay": "gated"}
    assert vendor.moved() == []


def test_a_lost_attempt_and_its_successor_stand_in_the_ledger(vendor: Vendor) -> None:
    desk.order(vendor)
    run = desk.start()
    assert claims.claim(run.ref) is not None
    desk.time_passes(minutes=5)
    desk.drive(run)
    found = [(event.kind, event.body) for event in journal.events(run.ref)][1:3]
    assert found == [("attempt lost", '{"attempt":1}'), ("resumed", '{"attempt":2,"version":1}')]
