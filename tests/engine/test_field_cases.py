"""What went wrong elsewhere: two refunds against one charge, and a gate that is older than retention."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from durable import journal, recovery, retention, vault
from durable.models import Run
from tests.engine import desk, people, tools
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")
SIXTY = [Decimal("60.00")]


def rivals(vendor: Vendor) -> list[Run]:
    """Two runs that each want 60 of a charge of 100, both approved while either fitted."""
    tools.asks((tools.wire_out, {"charge": tools.charge(vendor, "100.00"), "amount": SIXTY[0]}))
    both = [desk.drive(tools.start()) for _ in range(2)]
    for run in both:
        assert desk.effects(run) == {"pay": "gated"}
        people.say(run)
    return both


def test_of_two_refunds_of_sixty_from_a_hundred_the_second_goes_back_to_people_with_what_is_left(
    vendor: Vendor,
) -> None:
    tools.world["left"] = "100.00"
    first, second = rivals(vendor)
    desk.drive(first)
    tools.world["left"] = str(Decimal("100.00") - sum(vendor.moved()))
    desk.drive(second)
    assert vendor.moved() == SIXTY
    assert desk.effects(first) == {"pay": "applied"} and desk.effects(second) == {"pay": "gated"}
    (gate,) = people.gates(second)
    assert gate.round == 2 and gate.reason == "what it rests on has changed"
    (told,) = [event for event in journal.events(second.ref) if event.kind == "new round"]
    assert vault.read(told.detail.sealed) == "what it rests on has changed: left was 100.00, is 40.00"


def test_a_second_refund_that_the_vendor_refuses_moves_nothing_and_says_what_is_left(vendor: Vendor) -> None:
    first, second = rivals(vendor)
    for run in (first, second):
        desk.drive(run)
    assert vendor.moved() == SIXTY
    assert desk.effects(second) == {"pay": "failed"}
    assert "(4000)" in tools.words(second, "failed")


def test_a_gate_older_than_retention_is_spared_and_expires_the_ordinary_way(
    vendor: Vendor, settings: Any
) -> None:
    settings.GATE_DECIDE_SECONDS = timedelta(days=90)
    tools.asks((tools.wire_out, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = desk.drive(tools.start())
    desk.time_passes(days=31)
    assert retention.prune() == retention.Pruned()
    assert desk.effects(run) == {"pay": "gated"}
    desk.time_passes(days=60)
    recovery.sweep()
    assert desk.effects(run) == {"pay": "expired"}
    assert tools.kinds(run)[-1] == "expired"
    assert vendor.moved() == []
