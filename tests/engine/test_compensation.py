"""Compensation: undos in reverse order, each once, each an effect like any other; what can't be undone is listed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import requests

from approvals.states import Verdict
from durable import faults, journal, runs, steering, stops, verdicts, waits
from durable.errors import Conflict
from durable.models import Run
from durable.states import RunState, WaitKind
from durable.tools import registry
from tests.engine import desk, people, tools
from tests.engine.scenes import WHY, Killed, compensated, die, done, set_aside, sku
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def listed(run: Run) -> dict[str, str]:
    """What the ledger lists as not undone, and how."""
    told = [event for event in journal.events(run.ref) if event.kind == "not undoable"]
    return {event.effect_key.removeprefix(f"{run.ref}:"): event.body for event in told}


def test_undos_run_in_reverse_order_of_application_under_keys_of_their_own(vendor: Vendor) -> None:
    run = compensated(done(sku("A"), sku("B"), sku("C")))
    assert run.state == RunState.COMPENSATED
    assert set_aside(vendor) == [("A", 1), ("B", 1), ("C", 1), ("C", -1), ("B", -1), ("A", -1)]
    keys = [one["key"] for one in vendor.book("stock")][3:]
    assert keys == [f"{run.ref}:pay#3:undo", f"{run.ref}:pay#2:undo", f"{run.ref}:pay:undo"]


def test_the_order_is_that_of_application_not_of_asking(vendor: Vendor) -> None:
    vendor.fault("drop", method="POST", path="/stock", contains="'A'")
    vendor.modes(lookup_lag=10_000)
    tools.asks(sku("A"), sku("B"))
    run = desk.drive(tools.start("Crowd"))
    assert desk.effects(run) == {"pay": "pending", "pay#2": "applied"}
    vendor.modes(lookup_lag=0)
    tools.later(run, minutes=1)
    assert run.state == RunState.COMPLETED
    compensated(run)
    assert set_aside(vendor)[2:] == [("A", -1), ("B", -1)]


def test_an_undo_is_an_effect_with_intent_sent_and_outcome(vendor: Vendor) -> None:
    run = compensated(done(sku("A")))
    assert tools.kinds(run, "pay:undo") == ["intent", "sent", "applied"]
    assert tools.effect(run, "pay:undo").undo_of == tools.effect(run)


#: On the way back: passed once for each undo, before it has landed and afterwards; and at either end, passed once.
EACH = ("undo.before_commit", "undo.after_commit", "vendor.before_call",
        "vendor.after_call", "outcome.before_commit", "outcome.after_commit")  # fmt: skip
ENDS = ("claim.after_commit", "end.before_commit", "end.after_commit")


@pytest.mark.parametrize(
    ("point", "hit"),
    [*((point, hit) for point in EACH for hit in (1, 2, 3)), *((point, 1) for point in ENDS)],
)
def test_a_crash_anywhere_on_the_way_back_undoes_nothing_twice(vendor: Vendor, point: str, hit: int) -> None:
    run = done(sku("A"), sku("B"), sku("C"))
    runs.compensate(run.ref, **WHY)
    faults.arm(point, die, hit=hit)
    with pytest.raises(Killed):
        desk.drive(run)
    for _ in range(4):
        tools.later(run, minutes=5)
    assert run.state == RunState.COMPENSATED
    assert set_aside(vendor)[3:] == [("C", -1), ("B", -1), ("A", -1)]


def test_a_worker_that_loses_its_lease_on_the_way_back_leaves_it_to_the_next(vendor: Vendor) -> None:
    run = done(sku("A"), sku("B"))
    runs.compensate(run.ref, **WHY)

    def overtaken(call: Any) -> None:
        tools.before.clear()
        desk.time_passes(minutes=5)
        desk.drive(run)

    tools.before.append(overtaken)
    desk.drive(run)
    for _ in range(3):
        tools.later(run, minutes=5)
    assert run.state == RunState.COMPENSATED
    assert set_aside(vendor)[2:] in ([("B", -1), ("A", -1)], [("A", -1), ("B", -1)])


def test_an_undo_that_cannot_be_repeated_waits_for_people_and_those_before_it_wait_too(
    vendor: Vendor,
) -> None:
    run = compensated(done(sku("A"), sku("B", tools.pledge)))
    assert run.state == RunState.COMPENSATING
    assert desk.effects(run) == {"pay": "applied", "pay#2": "applied", "pay#2:undo": "gated"}
    people.say(run)
    desk.drive(run)
    assert run.state == RunState.COMPENSATED
    assert set_aside(vendor)[2:] == [("B", -1), ("A", -1)]


def test_a_rejected_undo_is_listed_and_the_others_run(vendor: Vendor) -> None:
    run = compensated(done(sku("A"), sku("B", tools.pledge)))
    people.say(run, Verdict.REJECT, words="they have it already")
    desk.drive(run)
    assert run.state == RunState.PARTLY_COMPENSATED
    assert listed(run) == {"pay#2": '{"how":"refused"}'}
    assert set_aside(vendor)[2:] == [("A", -1)]


def test_the_undo_of_a_gate_cannot_be_edited(vendor: Vendor) -> None:
    run = compensated(done(sku("B", tools.pledge)))
    with pytest.raises(Conflict, match="can't be edited"):
        people.say(run, Verdict.EDIT, args={"sku": "Z"})
    assert desk.effects(run)["pay:undo"] == "gated"


def cancelled_by_hand(vendor: Vendor, run: Run, key: str) -> None:
    """Somebody has put it back at the warehouse: the vendor refuses a second cancellation."""
    name = tools.effect(run, key).receipt_id
    path = f"{vendor.url}/stock/reservations/{name}/cancellations"
    requests.post(path, json={"reference": "by hand"}, timeout=5).raise_for_status()


def test_a_failed_undo_stops_its_dependants_and_no_others_and_stays_before_a_person(vendor: Vendor) -> None:
    run = done(sku("FIRST", tools.pledge), sku("BASE", tools.rest_on_it), sku("TOP"))
    cancelled_by_hand(vendor, run, "pay#3")
    compensated(run)
    people.say(run)
    desk.drive(run)
    assert run.state == RunState.PARTLY_COMPENSATED
    assert listed(run) == {"pay#3": '{"how":"failed"}', "pay#2": '{"how":"stopped"}'}
    assert set_aside(vendor)[-1] == ("FIRST", -1)
    assert ("BASE", -1) not in set_aside(vendor)
    (alarm,) = waits.open_waits(run, WaitKind.ATTENTION)
    assert alarm.name == "undo failed" and "already_cancelled" in alarm.detail["sentence"]
    verdicts.acknowledge(f"{run.ref}:pay#3", actor="olga", reason="it had been put back by hand")
    assert waits.open_waits(run, WaitKind.ATTENTION) == []


def test_what_depends_on_another_undo_is_undone_once_that_has_worked(vendor: Vendor) -> None:
    run = compensated(done(sku("BASE", tools.rest_on_it), sku("TOP")))
    assert run.state == RunState.COMPENSATED
    assert set(desk.effects(run).values()) == {"applied"}


def test_what_cannot_be_undone_is_listed_once_however_often_the_way_back_is_taken_up(vendor: Vendor) -> None:
    letter = (tools.letter, {"to": "ada@example.org"})
    run = compensated(done(sku("A", tools.pledge), letter))
    assert run.state == RunState.COMPENSATING
    people.say(run)
    desk.drive(run)
    assert run.state == RunState.PARTLY_COMPENSATED
    assert listed(run) == {"pay#2": '{"how":"not undoable"}'}
    assert [e.kind for e in journal.events(run.ref)].count("not undoable") == 1
    assert set_aside(vendor) == [("A", 1), ("A", -1)]


def test_a_tool_that_is_gone_waits_for_its_code_and_the_others_are_undone(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = done(sku("A"), sku("B", tools.rest_on_it))
    monkeypatch.delitem(registry._tools, "rest_on_it")
    compensated(run)
    assert run.state == RunState.COMPENSATING
    assert set_aside(vendor)[2:] == [("A", -1)]
    monkeypatch.undo()
    steering.retry(run.ref, actor="Olga", reason="the code is back")
    assert desk.drive(run).state == RunState.COMPENSATED
    assert set_aside(vendor)[2:] == [("A", -1), ("B", -1)]


def test_only_applied_effects_are_undone(vendor: Vendor) -> None:
    vendor.fault("status", status=404, code="not_found", service="stock", method="POST")
    tools.asks(sku("A"), sku("B"), (tools.wire_out, {"charge": "ch_1", "amount": Decimal("1.00")}))
    run = desk.drive(tools.start())
    people.say(run, Verdict.REJECT, words="no")
    desk.drive(run)
    assert desk.effects(run) == {"pay": "failed", "pay#2": "applied", "pay#3": "rejected"}
    compensated(run)
    assert run.state == RunState.COMPENSATED
    assert set_aside(vendor) == [("B", 1), ("B", -1)]


# What stands in the way.


def test_a_stop_order_holds_undos_too_and_lifting_it_lets_them_go(vendor: Vendor) -> None:
    run = done(sku("A"))
    order = stops.order("all", actor="olga", reason="look first")
    compensated(run)
    assert run.state == RunState.COMPENSATING and set_aside(vendor) == [("A", 1)]
    stops.lift(order.pk, actor="olga", reason="fine")
    desk.drive(run)
    assert run.state == RunState.COMPENSATED


def test_a_deadline_does_not_keep_a_run_from_being_put_right(vendor: Vendor) -> None:
    run = done(sku("A"))
    desk.time_passes(days=31)
    assert compensated(run).state == RunState.COMPENSATED


def test_a_run_is_compensated_once_and_only_after_its_end(vendor: Vendor) -> None:
    tools.asks(sku("A"))
    run = tools.start()
    with pytest.raises(Conflict):
        runs.compensate(run.ref, **WHY)
    desk.drive(run)
    compensated(run)
    with pytest.raises(Conflict):
        runs.compensate(run.ref, **WHY)
