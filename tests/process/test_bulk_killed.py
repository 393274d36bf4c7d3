"""Workers are killed in the middle of an act on many runs; another one goes on, and nothing is lost or done twice."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal

import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction

from approvals import bulk
from approvals.models import BulkAct
from durable import runs
from durable.models import LedgerEvent, Run
from durable.states import RunState
from local.process import kill_group
from proof import worker
from proof.stage import SWEEPER, Stage
from tests.process import house
from tests.process.house import Ticket
from tests.vendors import Vendor

pytestmark = pytest.mark.process
BEAT = (sys.executable, "-m", "celery", "-A", "durable.celery", "--quiet", "beat", "--pidfile=")
RUNS = 3
FORTY = [Decimal("40.00")]
#: An act lies idle until its dead worker's lease is over and beat has looked again, on a machine that is busy.
PATIENCE = 180.0


@dataclass
class Night:
    """An act on held runs, which its worker does not survive; each run's customer has paid 40.00."""

    act: BulkAct
    tickets: list[Ticket]

    def done(self) -> int:
        """On how many runs it has acted."""
        return self.act.results.filter(outcome="done").count()

    def over(self) -> bool:
        self.act.refresh_from_db()
        return self.act.state == "done"

    def told(self) -> Counter[tuple[str, str]]:
        """What the ledger says that the person has done to its runs."""
        refs = [ticket.run.ref for ticket in self.tickets]
        return Counter(
            LedgerEvent.objects.filter(run_ref__in=refs, actor="olga").values_list("run_ref", "kind")
        )

    def ended(self, state: RunState) -> bool:
        return all(ticket.state() == state for ticket in self.tickets)


def test_a_worker_killed_in_the_middle_of_an_act_on_many_is_replaced_and_each_run_is_acted_on_once(
    on: Stage, vendor: Vendor
) -> None:
    on.settings["LEASE_SECONDS"] = "3"
    person = User.objects.create_user("olga")
    person.groups.add(Group.objects.get(name="operator"))
    # Its claim is the first commit; then each run has one, which holds the act on it and its result.
    before = begun(person, vendor, "releases", "before")
    dies_at(on, before, "command.before_commit:3")
    after = begun(person, vendor, "releases", "after")
    dies_at(on, after, "command.after_commit:3")
    outside = begun(person, vendor, "cancellations", "outside")
    killed_from_outside(on, outside)
    assert [night.done() for night in (before, after, outside)] == [1, 2, 2]

    on.start(BEAT)
    on.start(worker.command("bulk", "survivor"))
    for night in (before, after, outside):
        house.until(night.over, "the act to be over", on.said, PATIENCE)
        event = "cancel asked" if night is outside else "released"
        assert Counter(night.act.results.values_list("outcome", flat=True)) == {"done": RUNS}
        assert night.told() == {(ticket.run.ref, event): 1 for ticket in night.tickets}

    on.start(worker.command("runs", "runs"))
    on.start(SWEEPER)
    for night in (before, after, outside):
        state = RunState.CANCELLED if night is outside else RunState.COMPLETED
        house.until(lambda night=night, state=state: night.ended(state), "its runs to end", on.said, PATIENCE)  # type: ignore[misc]  # both are of this turn
        assert [ticket.moved() for ticket in night.tickets] == [[] if night is outside else FORTY] * RUNS


def begun(person: User, vendor: Vendor, act: str, name: str) -> Night:
    """An act that was started, with nobody there to carry it out."""
    tickets = [Ticket(vendor, f"{name}-{no}").start() for no in range(RUNS)]
    for ticket in tickets:
        runs.hold(ticket.run.ref, actor="tests", reason="let me see")
    drafted = bulk.draft(person, act, query=None, refs=[ticket.run.ref for ticket in tickets])
    return Night(bulk.start(person, drafted.pk, "I have looked at each"), tickets)


def dies_at(on: Stage, night: Night, point: str) -> None:
    """Start a worker that gets SIGKILL, with its children, at a point of the engine."""
    dying = on.start(worker.command("bulk", f"dies-{night.act.pk}", die=point))
    house.until(lambda: dying.poll() is not None, f"the worker to die at {point}", on.said, PATIENCE)
    assert dying.returncode == -9


def killed_from_outside(on: Stage, night: Night) -> None:
    """SIGKILL a worker that has acted on two runs and is in the transaction of the third."""
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=night.tickets[2].run.pk)
        dying = on.start(worker.command("bulk", f"killed-{night.act.pk}"))
        house.until(lambda: night.done() == 2, "two runs to be acted on", on.said, PATIENCE)
        kill_group(dying.pid)
        assert dying.wait(house.PATIENCE) == -9, on.said()
