"""A process that has imported nothing yet knows the tools of the run that it is given, wherever that run is going."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import Any

import pytest

from durable import journal, runs
from durable.models import Effect, Run, Wait
from durable.states import EffectState, RunState
from proof import drive
from proof.stage import Stage
from tests.engine import desk
from tests.process.house import Ticket
from tests.vendors import Vendor

pytestmark = pytest.mark.process
WHY: dict[str, Any] = {"actor": "olga", "reason": "mistake"}


def in_a_fresh_process(on: Stage, *words: str) -> str:
    """Run a command to its end; returns what it printed."""
    child = on.start(words)
    assert child.wait(60) == 0, on.said()
    return on.said()


def killed_after_the_vendor_acted(on: Stage, vendor: Vendor, name: str) -> Ticket:
    """A ticket whose refund has moved, and whose worker died before it could say so."""
    ticket = Ticket(vendor, name).start()
    assert on.start(drive.command(ticket.run.ref, die="vendor.after_call")).wait(60) == -9, on.said()
    assert ticket.moved() == [Decimal("40.00")]
    assert desk.effects(ticket.run) == {"pay": EffectState.PENDING}
    return ticket


def kinds(run: Run) -> list[str]:
    return [event.kind for event in journal.events(run.ref)]


def test_a_compensating_run_is_undone_by_a_process_that_has_never_seen_its_agent(
    on: Stage, vendor: Vendor
) -> None:
    desk.order(vendor)
    run = desk.drive(runs.start("RefundDesk", {"order": "8812", "wants": "replacement"}, actor="tests"))
    assert run.state == RunState.COMPLETED
    runs.compensate(run.ref, **WHY)

    in_a_fresh_process(on, *drive.command(run.ref))

    run.refresh_from_db()
    assert run.state == RunState.COMPENSATED
    assert [one["metadata"]["quantity"] for one in vendor.book("stock")] == [1, -1]


def test_a_cancelling_run_is_settled_by_a_process_that_has_never_seen_its_agent(
    on: Stage, vendor: Vendor
) -> None:
    ticket = killed_after_the_vendor_acted(on, vendor, "cancelled")
    runs.cancel(ticket.run.ref, **WHY)
    assert ticket.state() == RunState.CANCELLING

    in_a_fresh_process(on, *drive.command(ticket.run.ref))

    assert ticket.state() == RunState.CANCELLED
    assert kinds(ticket.run)[-2:] == ["adopted", "cancelled"]
    assert ticket.moved() == [Decimal("40.00")]


def test_one_sweep_of_a_fresh_process_adopts_the_receipt_of_a_run_that_has_ended(
    on: Stage, vendor: Vendor
) -> None:
    ticket = killed_after_the_vendor_acted(on, vendor, "ended")
    # No run ends over a pending effect; one that a hand in the database has ended is found all the same.
    Run.objects.filter(pk=ticket.run.pk).update(state=RunState.FAILED.value, lease_until=None, due_at=None)
    desk.time_passes(minutes=5)

    said = in_a_fresh_process(on, sys.executable, "manage.py", "sweep")

    assert "orphans: 1" in said.splitlines()
    assert "doubts: 1" in said.splitlines()
    assert kinds(ticket.run)[-3:] == ["in doubt", "attention", "adopted"]
    effect = Effect.objects.get(run=ticket.run)
    assert (effect.state, effect.open_sends) == (EffectState.APPLIED, 0)
    assert ticket.moved() == [Decimal("40.00")]
    assert not Wait.objects.filter(run=ticket.run, state="open").exists()
    assert ticket.state() == RunState.FAILED
