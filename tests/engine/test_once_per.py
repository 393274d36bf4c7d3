"""One business act, whichever run asks for it: a second one is shown to people, and never leaves on its own."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User

from approvals.states import Verdict
from durable import runner
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.engine.scenes import FORTY
from tests.together import at_once
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def asks(
    vendor: Vendor, order: str = "8812", name: str = "main", amount: str = "40.00", times: int = 1
) -> Any:
    charge = tools.charge(vendor, "500.00")
    args = {"order": order, "charge": charge, "amount": Decimal(amount)}
    tools.asks(*[(tools.once, args)] * times, name=name)


def test_a_second_run_with_the_same_order_is_gated_and_shows_the_first(vendor: Vendor) -> None:
    asks(vendor)
    first = desk.drive(tools.start())
    second = desk.drive(tools.start())
    assert first.state == RunState.COMPLETED and desk.effects(second) == {"pay": "gated"}
    (gate,) = people.gates(second)
    assert first.ref in gate.reason and "applied" in gate.reason
    assert vendor.moved() == FORTY
    people.say(second)
    desk.drive(second)
    assert vendor.moved() == FORTY * 2  # people overrode it on purpose


def test_a_second_one_inside_the_same_run_is_gated_too(vendor: Vendor) -> None:
    asks(vendor, times=2)
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "applied", "pay#2": "gated"}
    assert vendor.moved() == FORTY


def test_names_that_a_person_would_take_for_one_are_one(vendor: Vendor) -> None:
    asks(vendor, order="A-8812")
    desk.drive(tools.start())
    asks(vendor, order="a-8812 ")
    assert desk.effects(desk.drive(tools.start())) == {"pay": "gated"}


def test_another_order_is_not_held_up(vendor: Vendor) -> None:
    asks(vendor)
    desk.drive(tools.start())
    asks(vendor, order="8813")
    assert desk.drive(tools.start()).state == RunState.COMPLETED


def test_one_that_was_refused_or_failed_holds_nobody_up(vendor: Vendor) -> None:
    asks(vendor, amount="140.00")
    first = desk.drive(tools.start())
    people.say(first, Verdict.REJECT, words="no")
    asks(vendor)
    assert desk.drive(tools.start()).state == RunState.COMPLETED


def test_one_in_doubt_holds_up_the_next(vendor: Vendor) -> None:
    asks(vendor)
    vendor.fault("garbage", form="other_amount", method="POST", path="/v1/refunds")
    first = desk.drive(tools.start())
    assert desk.effects(first) == {"pay": "in doubt"}
    assert desk.effects(desk.drive(tools.start())) == {"pay": "gated"}


def test_of_runs_that_ask_at_the_same_moment_one_acts_and_the_others_are_gated(vendor: Vendor) -> None:
    for trial in range(4):
        asks(vendor, order=f"88{trial}")
        rivals = [tools.start() for _ in range(3)]
        at_once(*(partial(runner.drive, run.ref) for run in rivals))
        states = sorted(desk.effects(run)["pay"] for run in rivals)
        assert states == ["applied", "gated", "gated"]
    assert vendor.moved() == FORTY * 4


def test_of_two_that_were_both_approved_the_second_goes_back_to_people(vendor: Vendor) -> None:
    """Each reviewer saw the other gate undecided; the second approval no longer says what it said."""
    asks(vendor, amount="140.00")
    rivals = [desk.drive(tools.start()) for _ in range(2)]
    for run in rivals:
        people.say(run)
    at_once(*(partial(runner.drive, run.ref) for run in rivals))
    for run in rivals:
        run.refresh_from_db()
    assert vendor.moved() == [Decimal("140.00")]
    assert sorted(desk.effects(run)["pay"] for run in rivals) == ["applied", "gated"]
    loser = next(run for run in rivals if desk.effects(run)["pay"] == "gated")
    (gate,) = people.gates(loser)
    assert gate.round == 2 and "has done the same meanwhile" in gate.reason
    people.say(loser)
    desk.drive(loser)
    assert vendor.moved() == [Decimal("140.00")] * 2


def test_what_the_vendor_would_not_take_at_first_goes_back_to_people_too(vendor: Vendor) -> None:
    """The first of two was sent and not taken. Both are approved while the other is not, and the second acts."""
    asks(vendor, amount="140.00")
    first, second = (desk.drive(tools.start()) for _ in range(2))
    people.say(first)
    vendor.fault("status", status=429, method="POST", path="/v1/refunds")
    desk.drive(first)
    User.objects.filter(username="alice").update(is_active=False)
    tools.later(first, minutes=5)
    people.say(first, by="bob")
    people.say(second, by="bob")
    desk.drive(second)
    assert vendor.moved() == [Decimal("140.00")]
    desk.drive(first)
    (gate,) = people.gates(first)
    assert gate.round == 3 and "has done the same meanwhile" in gate.reason
    assert vendor.moved() == [Decimal("140.00")]


def test_an_approval_goes_back_to_people_for_the_same_act_and_for_no_other(vendor: Vendor) -> None:
    """What may have moved counts, and what certainly did not, or is another order's, does not."""
    wanted = {"first": "8812", "second": "8812", "failing": "8813", "other": "8813"}
    for name, order in wanted.items():
        asks(vendor, order=order, name=name, amount="140.00")
    first, second, failing, other = (desk.drive(tools.start(name=name)) for name in wanted)
    for run in (first, second, failing, other):
        people.say(run)
    vendor.fault("garbage", form="other_amount", method="POST", path="/v1/refunds")
    assert desk.effects(desk.drive(first)) == {"pay": "in doubt"}
    vendor.fault("status", status=402, method="POST", path="/v1/refunds")
    assert desk.effects(desk.drive(failing)) == {"pay": "failed"}
    asks(vendor, order="8814", name="late", amount="140.00")
    desk.drive(
        tools.start(name="late")
    )  # its gate is newer than what the first has done, and is nobody else's
    assert desk.effects(desk.drive(second)) == {"pay": "gated"}
    assert desk.effects(desk.drive(other)) == {"pay": "applied"}
