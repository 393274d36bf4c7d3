"""Eight real processes want the same thing at the same moment, and one of them gets it."""

from __future__ import annotations

import sys
from decimal import Decimal

import pytest

from durable.models import LedgerEvent, Purse, Run, Wait
from durable.states import Attention, EventKind, RunState, WaitKind
from proof.stage import Stage
from tests.process.house import Ticket
from tests.vendors import Vendor

pytestmark = pytest.mark.process
MANY = 8


def race(on: Stage, *words: str) -> list[str]:
    """What the racers printed."""
    # A long lease: eight that share two processors may be slow, and nobody dies here.
    child = on.start((sys.executable, "-m", "tests.process.racers", *words), LEASE_SECONDS="30")
    assert child.wait(60) == 0, on.said()
    return on.said().splitlines()


def test_the_last_of_a_budget_goes_to_one_of_eight(on: Stage, vendor: Vendor) -> None:
    tickets = [Ticket(vendor, f"last-{n}").start() for n in range(MANY)]
    shared = tickets[0].run.budget
    Run.objects.update(budget=shared)
    purse = Purse.objects.filter(budget=shared, currency="EUR")
    purse.update(spent_minor=46_000)  # of 500.00: enough for one refund of 40.00

    race(on, "drive", *(ticket.run.ref for ticket in tickets))

    states = sorted(ticket.state() for ticket in tickets)
    assert states == [RunState.COMPLETED] + [RunState.SUSPENDED] * (MANY - 1)
    assert sorted(ticket.moved() for ticket in tickets) == [[]] * (MANY - 1) + [[Decimal("40.00")]]
    assert purse.get().spent_minor == purse.get().limit_minor
    assert purse.get().reserved_minor == 0
    stuck = Wait.objects.filter(kind=WaitKind.ATTENTION.value).values_list("name", flat=True)
    assert list(stuck) == [Attention.BUDGET.value] * (MANY - 1)


def test_a_run_that_eight_claim_at_once_is_driven_by_one(on: Stage, vendor: Vendor) -> None:
    ticket = Ticket(vendor, "claimed").start()

    said = race(on, "drive", *[ticket.run.ref] * MANY)

    assert sorted(line.split()[1] for line in said if line.startswith("run-")) == ["False"] * (MANY - 1) + [
        "True"
    ]
    assert ticket.ended()
    assert ticket.run.attempt == 1
    assert ticket.moved() == [Decimal("40.00")]


def test_a_start_that_comes_eight_times_is_one_run(on: Stage) -> None:
    said = race(on, "start", "order-7", str(MANY))

    refs = {line for line in said if line.startswith("run-")}
    assert refs == {Run.objects.get().ref}
    assert LedgerEvent.objects.filter(kind=EventKind.STARTED.value).count() == 1
