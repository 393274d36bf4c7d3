"""Late answers: whoever lost the lease adds one event, which changes no state and loses no proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from durable import claims, journal, strays, waits
from durable.clock import db_now
from durable.errors import LeaseLost, VendorRefused
from durable.ledger import outcome
from durable.models import Effect, Run
from durable.states import RunState, WaitKind
from durable.vendor import Call, Receipt
from tests.engine import desk, people, tools
from tests.engine.scenes import FORTY, crash_before_the_wire, refund
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def overtaken(vendor: Vendor, answer: Callable[[Call, Receipt], Receipt | None] | None = None) -> Run:
    """A worker that sleeps through its lease while its request is out; another one has claimed the run since."""
    run = refund(vendor)

    def sleep(call: Call, receipt: Receipt) -> Receipt | None:
        tools.after.clear()
        desk.time_passes(minutes=5)
        assert claims.claim(run.ref) is not None
        return answer(call, receipt) if answer is not None else None

    tools.after.append(sleep)
    desk.drive(run)
    return run


def another_receipt(run: Run) -> None:
    """The same, and the other one finds the refund, adopts it and goes on; the sleeper is told of another refund."""

    def sleep(call: Call, receipt: Receipt) -> Receipt:
        tools.after.clear()
        desk.time_passes(minutes=5)
        tools.later(run)
        return replace(receipt, id="re_second")

    tools.after.append(sleep)
    desk.drive(run)


def test_without_its_lease_a_worker_adds_a_late_answer_that_changes_no_state(vendor: Vendor) -> None:
    run = overtaken(vendor)
    assert tools.kinds(run) == ["intent", "sent", "late answer"]
    assert desk.effects(run) == {"pay": "pending"}


def test_a_late_answer_is_what_reconciling_reads_first(vendor: Vendor) -> None:
    run = overtaken(vendor)
    vendor.fault("status", status=503, method="GET", path="/v1/refunds", times=0)
    tools.later(run, minutes=5)
    assert run.state == RunState.COMPLETED
    assert tools.kinds(run)[-1] == "adopted"
    assert vendor.requests("GET", "/v1/refunds") == []
    assert vendor.moved() == FORTY


def test_a_late_answer_is_taken_up_at_once(vendor: Vendor) -> None:
    run = refund(vendor)

    def sleep(*_: object) -> None:
        tools.after.clear()
        desk.time_passes(minutes=5)
        Effect.objects.update(next_look_at=db_now() + timedelta(hours=1))
        assert claims.claim(run.ref) is not None

    tools.after.append(sleep)
    desk.drive(run)
    looked_at = tools.effect(run).next_look_at
    assert looked_at is not None and looked_at <= db_now()


def test_of_two_late_answers_with_two_receipts_one_is_adopted_and_the_other_raises_an_alarm(
    vendor: Vendor,
) -> None:
    run = refund(vendor)
    crash_before_the_wire(run)
    key = tools.effect(run).key
    Effect.objects.filter(key=key).update(sends=2, open_sends=2)
    for receipt in ("re_first", "re_second"):
        found = Receipt(id=receipt, amount=Decimal("40.00"), currency="EUR")
        outcome.late(run.ref, key, "worker without a lease", found, "")
    tools.later(run, minutes=5)
    assert desk.effects(run) == {"pay": "applied"}
    other = {"re_first", "re_second"} - {tools.effect(run).receipt_id}
    (alarm,) = waits.open_waits(run, WaitKind.ATTENTION)
    assert len(other) == 1 and other.pop() in alarm.detail["sentence"]


def test_a_late_answer_for_an_opaque_vendor_spares_a_person(vendor: Vendor) -> None:
    vendor.modes(keys="ignore")
    tools.asks((tools.opaque, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}))
    run = tools.start()

    def sleep(call: Call, receipt: Receipt) -> None:
        tools.after.clear()
        desk.time_passes(minutes=5)
        assert claims.claim(run.ref) is not None

    tools.after.append(sleep)
    desk.drive(run)
    tools.later(run, minutes=5)
    assert run.state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def test_a_second_receipt_for_one_effect_raises_an_alarm_that_outlives_the_run(vendor: Vendor) -> None:
    run = refund(vendor)
    another_receipt(run)
    assert run.state == RunState.COMPLETED
    (alarm,) = waits.open_waits(run, WaitKind.ATTENTION)
    assert (
        "re_second" in alarm.detail["sentence"] and tools.effect(run).receipt_id in alarm.detail["sentence"]
    )
    assert tools.kinds(run)[-2:] == ["late answer", "attention"]


def test_an_alarm_raised_under_way_is_still_there_when_the_run_has_ended(vendor: Vendor) -> None:
    tools.asks(
        (tools.keyed, {"charge": tools.charge(vendor), "amount": Decimal("40.00")}),
        (tools.letter, {"to": "ada@example.org"}),
    )
    run = tools.start()
    another_receipt(run)
    people.say(run)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert len(waits.open_waits(run, WaitKind.ATTENTION)) == 1


def test_a_worker_without_lease_writes_nothing_but_the_late_answer(vendor: Vendor) -> None:
    run = overtaken(vendor, lambda call, receipt: (_ for _ in ()).throw(VendorRefused("no", "no")))
    assert desk.effects(run) == {"pay": "pending"}
    assert [e.kind for e in journal.events(run.ref) if e.effect_key] == ["intent", "sent", "late answer"]
    assert LeaseLost.__mro__[1] is BaseException


def test_a_conflict_about_an_effect_with_an_alarm_is_a_question_of_its_own(vendor: Vendor) -> None:
    """An alarm wakes nobody: a run that waited for one alone would be woken, and driven, at every sweep."""
    ask = {"charge": tools.charge(vendor), "amount": Decimal("40.00")}
    letter = (tools.letter, {"to": "ada@example.org"})
    tools.asks((tools.keyed, ask), letter)
    run = tools.start()
    another_receipt(run)
    people.say(run)
    tools.asks((tools.keyed, {**ask, "amount": Decimal("50.00")}), letter)
    run = desk.drive(run)
    sentences = [wait.detail["sentence"] for wait in waits.open_waits(run, WaitKind.ATTENTION)]
    assert len(sentences) == 2
    assert "now asks for another" in sentences[1]
    assert strays.lonely().count() == 0
