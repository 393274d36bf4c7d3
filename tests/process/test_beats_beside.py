"""Beats that no ordinary refund passes: a worker is killed over an undo, or over an answer that came too late."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest

from durable import journal, runner, runs
from durable.clock import db_now
from durable.models import Run
from durable.states import RunState
from proof import nursery, worker
from proof.stage import SWEEPER, Stage
from tests.process import house
from tests.process.house import Ticket
from tests.vendors import Vendor

pytestmark = pytest.mark.process
UNDO, LATE = (tuple(f"{beat}.{when}_commit" for when in ("before", "after")) for beat in ("undo", "late"))


def test_a_worker_killed_over_an_undo_or_a_late_answer_is_replaced_and_nothing_happens_twice(
    on: Stage, vendor: Vendor
) -> None:
    tickets = {point: to_undo(vendor, point) for point in UNDO} | {
        point: with_a_slow_answer(vendor, point) for point in LATE
    }
    for point, ticket in tickets.items():
        house.hint(ticket, point)
    child = on.start(nursery.command({point: point for point in tickets}), LEASE_SECONDS="30")
    for point in LATE:
        house.until(tickets[point].sent, f"{point}: the request to be out", on.said, 90)
        its_lease_runs_out(tickets[point].run)
    assert child.wait(240) == 0, on.said()
    assert json.loads(on.said().splitlines()[-1]) == dict.fromkeys(tickets, -9)
    late = {point: "late answer" in kinds(tickets[point].run) for point in LATE}
    assert late == {"late.before_commit": False, "late.after_commit": True}
    begun = {point: kinds(tickets[point].run).count("intent") - 1 for point in UNDO}
    assert begun == {"undo.before_commit": 0, "undo.after_commit": 1}
    for ticket in tickets.values():
        its_lease_runs_out(ticket.run)

    on.start(worker.command("runs", "survivor"))
    on.start(SWEEPER)
    for point in LATE:
        house.until(tickets[point].ended, f"{point}: to complete", on.said)
        assert tickets[point].moved() == [Decimal("40.00")]
        assert "adopted" in kinds(tickets[point].run)
    for point in UNDO:
        run = tickets[point].run
        house.until(partial(compensated, run), f"{point}: to be undone", on.said)
        stock = [one for one in vendor.book("stock") if one["key"].startswith(f"{run.ref}:")]
        assert [one["metadata"]["quantity"] for one in stock] == [1, -1]


def to_undo(vendor: Vendor, point: str) -> Ticket:
    """A run that has set a replacement aside, and is to take it back."""
    ticket = Ticket(vendor, point)
    ticket.run = runs.start("RefundDesk", {"order": ticket.name, "wants": "replacement"}, actor="tests")
    runner.drive(ticket.run.ref)
    assert ticket.ended()
    runs.compensate(ticket.run.ref, actor="tests", reason="mistake")
    return ticket


def with_a_slow_answer(vendor: Vendor, point: str) -> Ticket:
    ticket = Ticket(vendor, point).start()
    vendor.fault("slow", method="POST", contains=ticket.charge, seconds=4)
    return ticket


def its_lease_runs_out(run: Run) -> None:
    """As it does while its worker is paused: its heartbeats and its answer come too late."""
    Run.objects.filter(pk=run.pk).exclude(lease_until=None).update(
        lease_until=db_now() - timedelta(seconds=1)
    )


def compensated(run: Run) -> bool:
    run.refresh_from_db()
    return run.state == RunState.COMPENSATED


def kinds(run: Run) -> list[str]:
    return [event.kind for event in journal.events(run.ref)]
