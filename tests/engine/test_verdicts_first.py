"""Who spoke first about an effect in doubt, and effects that failed and are asked for again."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from durable import doubts, recovery, verdicts
from durable.errors import Conflict, NotFound
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.engine.scenes import WHY, doubtful, key
from tests.together import at_once
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def test_the_second_verdict_is_told_who_gave_the_first(vendor: Vendor) -> None:
    run = doubtful(vendor, quiet=True)
    verdicts.did_not(key(run), actor="otto", reason="not there")
    with pytest.raises(Conflict, match="withdrawn, settled by otto"):
        verdicts.happened(key(run), receipt_id="re_1", **WHY)


def test_of_two_opposite_verdicts_at_once_one_wins(vendor: Vendor) -> None:
    for _ in range(5):
        run = doubtful(vendor, quiet=True)
        vendor.clear_faults()
        no = partial(verdicts.did_not, key(run), **WHY)
        yes = partial(verdicts.happened, key(run), receipt_id=f"re_{run.ref}", **WHY)
        assert at_once(no, yes, loses=Conflict).count(True) == 1
        assert tools.kinds(run).count("verdict") == 1


def test_the_sweeper_and_a_person_settle_an_effect_once(vendor: Vendor) -> None:
    run = doubtful(vendor, tools.unkeyed)
    vendor.modes(lookup_lag=0)
    desk.time_passes(hours=1)
    recovery.sweep()
    assert desk.effects(run) == {"pay": "applied"}
    with pytest.raises(Conflict, match="applied, settled by sweeper"):
        verdicts.happened(key(run), receipt_id="re_1", **WHY)


def test_what_the_sweeper_hears_of_a_doubt_stands_beside_the_question(vendor: Vendor) -> None:
    run = doubtful(vendor, tools.unkeyed)
    desk.time_passes(hours=1)
    recovery.sweep()
    assert desk.effects(run) == {"pay": "in doubt"}
    asked = doubts.question(doubts.find(key(run)))
    assert asked is not None and asked.detail["heard"] == "nothing of ours" and asked.detail["heard_at"]


@pytest.mark.parametrize("act", [verdicts.did_not, verdicts.ask_again, verdicts.acknowledge])
def test_a_verdict_on_what_is_not_there_or_not_in_doubt_is_refused(vendor: Vendor, act: Any) -> None:
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = desk.drive(tools.start())
    with pytest.raises(Conflict):
        act(key(run), **WHY)
    with pytest.raises(NotFound):
        act("run-none:pay", **WHY)


# A failed effect.


def test_a_failed_effect_may_be_asked_for_again_under_a_linked_gated_key(vendor: Vendor) -> None:
    args = {"charge": tools.charge(vendor), "amount": Decimal("40.00")}
    letter = (tools.letter, {"to": "ada@example.org"})
    vendor.fault("status", status=402, code="card_declined", method="POST", path="/v1/refunds")
    tools.asks((tools.keyed, args), letter)
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "failed", "pay#2": "gated"}
    verdicts.ask_again(key(run), **WHY)
    people.say(run)
    desk.drive(run)
    assert desk.effects(run)["pay~2"] == "gated"
    (gate,) = people.gates(run)
    assert (
        gate.reason
        == "the vendor refused the earlier act under the older key, and a person lets it be asked again"
    )
    people.say(run)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert [one["key"] for one in vendor.book()] == [key(run, "pay~2")]


def test_a_failed_effect_of_a_step_that_is_over_is_not_asked_for_again(vendor: Vendor) -> None:
    vendor.fault("status", status=402, method="POST", path="/v1/refunds")
    tools.asks((tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = desk.drive(tools.start())
    assert run.state == RunState.COMPLETED
    with pytest.raises(Conflict, match="has gone on"):
        verdicts.ask_again(key(run), **WHY)
