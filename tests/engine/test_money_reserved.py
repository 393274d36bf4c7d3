"""Money of a budget: reserved at the intent, spent by the receipt, given back by every other end. Never below zero."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from approvals.states import Verdict
from durable import runner, runs, steering, verdicts
from durable.models import Budget, Purse, Run
from durable.states import RunState
from tests.engine import desk, people, tools
from tests.together import at_once
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def asks(vendor: Vendor, tool: Any = tools.keyed, *amounts: str, currency: str = "EUR") -> dict[str, Any]:
    args = {"charge": tools.charge(vendor, "5000", currency), "currency": currency}
    tools.asks(*((tool, {**args, "amount": Decimal(one)}) for one in amounts or ("40.00",)))
    return args


def purse(run: Run, currency: str = "EUR") -> tuple[int, int]:
    """Reserved and spent, in minor units."""
    found = Purse.objects.get(budget_id=run.budget_id, currency=currency)
    return found.reserved_minor, found.spent_minor


def test_a_gated_effect_reserves_and_its_receipt_spends(vendor: Vendor) -> None:
    asks(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    assert purse(run) == (4000, 0)
    people.say(run)
    assert purse(run) == (4000, 0)
    desk.drive(run)
    assert purse(run) == (0, 4000)


def test_a_rejection_gives_back(vendor: Vendor) -> None:
    asks(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    people.say(run, Verdict.REJECT, words="no")
    assert purse(run) == (0, 0)


def test_an_expired_gate_gives_back(vendor: Vendor) -> None:
    asks(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    tools.later(run, days=4)
    assert purse(run) == (0, 0)


def test_a_cancel_gives_back_what_never_left(vendor: Vendor) -> None:
    asks(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    runs.cancel(run.ref, actor="olga", reason="mistake")
    desk.drive(run)
    assert run.state == RunState.CANCELLED
    assert desk.effects(run) == {"pay": "withdrawn"}
    assert purse(run) == (0, 0)


def test_a_skipped_step_gives_back(vendor: Vendor) -> None:
    asks(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    steering.skip(run.ref, actor="olga", reason="done by hand")
    assert purse(run) == (0, 0)


def test_a_definitive_no_gives_back(vendor: Vendor) -> None:
    asks(vendor)
    vendor.fault("status", status=402, method="POST", path="/v1/refunds")
    assert purse(desk.drive(tools.start())) == (0, 0)


def test_a_new_round_reserves_anew(vendor: Vendor) -> None:
    args = asks(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    people.say(run, Verdict.EDIT, args={**args, "amount": "70.00"}, words="more")
    assert purse(run) == (7000, 0)
    people.say(run, Verdict.REJECT, by="bob", words="no")
    assert purse(run) == (0, 0)


def test_a_changed_proposal_after_a_rejection_reserves_once(vendor: Vendor) -> None:
    args = asks(vendor, tools.wire_out)
    run = desk.drive(tools.start())
    people.say(run, Verdict.REJECT, words="no")
    tools.asks((tools.wire_out, {**args, "amount": Decimal("30.00")}))
    desk.drive(run)
    assert purse(run) == (3000, 0)


def test_doubt_keeps_the_reservation_and_a_verdict_ends_it(vendor: Vendor) -> None:
    vendor.modes(keys="ignore")
    for verdict, left in (("did not", (0, 0)), ("happened", (0, 4000))):
        vendor.fault("hang", seconds=0, method="POST", path="/v1/refunds")
        asks(vendor, tools.opaque)
        run = desk.drive(tools.start())
        assert desk.effects(run) == {"pay": "in doubt"} and purse(run) == (4000, 0)
        desk.time_passes(minutes=5)
        if verdict == "did not":
            verdicts.did_not(f"{run.ref}:pay", actor="olga", reason="not there")
        else:
            verdicts.happened(f"{run.ref}:pay", actor="olga", reason="there", receipt_id="re_9")
        assert purse(run) == left


def test_a_budget_that_is_spent_stops_the_intent_and_nothing_is_written(vendor: Vendor) -> None:
    asks(vendor, tools.keyed, "90.00", "450.00")
    run = desk.drive(tools.start())
    assert desk.effects(run) == {"pay": "applied"}
    assert run.state == RunState.SUSPENDED
    assert "410.00 EUR left" in tools.attention(run)[0]
    assert purse(run) == (0, 9000)


def test_reserved_money_counts_against_the_limit(vendor: Vendor) -> None:
    asks(vendor, tools.wire_out, "300.00", "300.00")
    run = desk.drive(tools.start("Crowd"))
    assert desk.effects(run) == {"pay": "gated"}
    assert "200.00 EUR left" in tools.attention(run)[0]


def test_a_currency_without_a_limit_is_refused(vendor: Vendor) -> None:
    asks(vendor, tools.keyed, "40.00", currency="USD")
    run = desk.drive(tools.start())
    assert desk.effects(run) == {}
    assert "no limit in USD" in tools.attention(run)[0]


def test_each_currency_has_its_own_purse_and_its_own_decimals(vendor: Vendor) -> None:
    asks(vendor, tools.keyed, "90", currency="JPY")
    run = desk.drive(tools.start())
    assert purse(run, "JPY") == (0, 90) and purse(run, "EUR") == (0, 0)
    assert vendor.book()[0]["amount_minor"] == 90


def test_where_a_vendor_moved_more_than_asked_the_purse_is_full_and_no_fuller(vendor: Vendor) -> None:
    """What people adopt may pass the limit; the ledger must be able to say so."""
    asks(vendor, tools.keyed, "90.00")
    vendor.fault("garbage", form="other_amount", method="POST", path="/v1/refunds")
    run = desk.drive(tools.start())
    Purse.objects.filter(budget_id=run.budget_id, currency="EUR").update(limit_minor=9000)
    verdicts.happened(f"{run.ref}:pay", actor="olga", reason="seen", receipt_id=vendor.book()[0]["id"])
    assert purse(run) == (0, 9000)
    assert '"amount_minor":9001' in tools.journal.events(run.ref, effect_key=f"{run.ref}:pay")[-1].body


def test_undos_stand_outside_the_limit(vendor: Vendor) -> None:
    asks(vendor, tools.unkeyed, "90.00")
    run = desk.drive(tools.start())
    runs.compensate(run.ref, actor="olga", reason="mistake")
    desk.drive(run)
    people.say(run)
    desk.drive(run)
    assert run.state == RunState.COMPENSATED
    assert purse(run) == (0, 9000)


def test_of_eight_that_want_the_last_unit_one_gets_it(vendor: Vendor) -> None:
    asks(vendor, tools.keyed, "40.00")
    rivals = [tools.start() for _ in range(8)]
    shared = rivals[0].budget_id
    Run.objects.filter(pk__in=[run.pk for run in rivals]).update(budget_id=shared)
    Purse.objects.filter(budget_id=shared, currency="EUR").update(limit_minor=7999)
    at_once(*(partial(runner.drive, run.ref) for run in rivals))
    assert vendor.moved() == [Decimal("40.00")]
    assert Budget.objects.get(pk=shared).purses.get(currency="EUR").spent_minor == 4000
    stuck = [run for run in rivals if any("left in the budget" in one for one in tools.attention(run))]
    assert len(stuck) == 7
