"""A real Celery worker is killed at each beat of the protocol; another one finishes; the money has moved once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal

import pytest

from durable import runner
from proof import nursery, worker
from proof.stage import SWEEPER, Stage
from tests.process import house
from tests.process.house import Ticket
from tests.vendors import Vendor

pytestmark = pytest.mark.process
SMALL, LARGE = "40.00", "184.50"


@dataclass(frozen=True)
class Beat:
    """Where a worker dies, and what kind of refund takes it there."""

    point: str
    paid: str = SMALL
    fault: str = ""
    approved_first: bool = False


BEATS = (
    *(
        Beat(f"{beat}.{when}_commit")
        for beat in ("claim", "intent", "outcome", "checkpoint", "end")
        for when in ("before", "after")
    ),
    *(Beat(f"vendor.{when}_call") for when in ("before", "after")),
    *(Beat(f"lookup.{when}_call", fault="drop") for when in ("before", "after")),
    *(Beat(f"adopt.{when}_commit", fault="drop") for when in ("before", "after")),
    *(Beat(f"sent.{when}_commit", paid=LARGE, approved_first=True) for when in ("before", "after")),
    *(Beat(f"suspend.{when}_commit", paid=LARGE) for when in ("before", "after")),
)


def test_a_worker_killed_at_any_beat_is_replaced_and_the_money_moves_once(on: Stage, vendor: Vendor) -> None:
    tickets = {beat: ready(vendor, beat) for beat in BEATS}

    codes = kill_a_worker_at_each(on, tickets)
    assert codes == {beat.point: -9 for beat in BEATS}, on.said()

    on.start(worker.command("runs", "survivor"))
    on.start(SWEEPER)
    late = [beat for beat in BEATS if beat.paid == LARGE and not beat.approved_first]
    for beat in late:
        house.until(tickets[beat].waits, f"{beat.point}: to wait at its gate", on.said)
        house.approve(tickets[beat])
    for beat in BEATS:
        house.until(tickets[beat].ended, f"{beat.point}: to complete", on.said)

    assert {beat.point: tickets[beat].moved() for beat in BEATS} == {
        beat.point: [Decimal(beat.paid)] for beat in BEATS
    }
    again = {beat.point for beat in BEATS if tickets[beat].run.attempt > 1}
    assert again == {b.point for b in BEATS} - {"claim.before_commit", "end.after_commit"}


def ready(vendor: Vendor, beat: Beat) -> Ticket:
    """A run that comes to the beat with its next attempt."""
    ticket = Ticket(vendor, beat.point.replace(".", "-"), paid=beat.paid).start()
    if beat.fault:
        vendor.fault(beat.fault, method="POST", contains=ticket.charge)
    if beat.approved_first:
        runner.drive(ticket.run.ref)
        house.approve(ticket)
    return ticket


def kill_a_worker_at_each(on: Stage, tickets: dict[Beat, Ticket]) -> dict[str, int]:
    """Give each run a worker of its own, which dies at the run's beat. Returns how each worker ended."""
    for beat, ticket in tickets.items():
        house.hint(ticket, beat.point)
    child = on.start(nursery.command({beat.point: beat.point for beat in tickets}))
    assert child.wait(240) == 0, on.said()
    codes: dict[str, int] = json.loads(on.said().splitlines()[-1])
    return codes
