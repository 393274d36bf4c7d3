"""What happens next in a schedule: whoever has to act acts, one after the other, until the run has ended.

One process plays the worker, the sweeper, the reviewer and the operator, because at any moment one of them acts. Its
death is the death of whoever was acting. The next process finds everything in the database and at the vendor.
"""

from __future__ import annotations

from typing import Any

from durable import clock, recovery, runner, runs, waits
from durable.errors import InterlockError
from durable.models import Run, Wait
from durable.states import ENDED, RunState, WaitKind
from local.vendor import Vendor
from proof.schedules import clockwork, errand, person
from proof.schedules.notes import Pen
from proof.schedules.plan import ACTS, WINDING, Schedule

#: A schedule that needs more acts than this goes nowhere.
MOST_ACTS = 120
#: What must have been paid before an errand can give it back.
CHARGES = {
    "whole": ("first", "second", "first_back"),
    "undone": ("first", "first_back"),
    "gated": ("second",),
    WINDING: ("second",),
}
_AGENTS = {"gated": errand.GatedErrand.name, WINDING: errand.WindingErrand.name}
_CUSTOMER = "a customer"
_COLUMNS = ("ref", "state", "held", "due_at", "lease_until")
_FORWARD = (RunState.QUEUED, RunState.RUNNING, RunState.SUSPENDED)


class Stuck(Exception):
    """Nothing and nobody can bring the run any further."""


class World:
    """One schedule, as the present process sees it."""

    def __init__(self, schedule: Schedule, vendor: Vendor, pen: Pen) -> None:
        self.schedule, self.vendor, self.pen = schedule, vendor, pen
        self.key = f"{schedule.name} {pen.notes.names['order']}"

    def run(self) -> Run | None:
        """The schedule's run, once it is started, by the few columns that say what happens next."""
        return Run.objects.filter(start_key=self.key).only(*_COLUMNS).first()

    def go_on(self) -> None:
        """Act until the run has ended. Raises Stuck."""
        while True:
            if self.pen.notes.acts >= MOST_ACTS:
                raise Stuck(f"it has not ended after {MOST_ACTS} acts")
            self.pen.write("act")
            run = self.run()
            if run is None:
                runs.start(self._agent(), self._input(), actor=_CUSTOMER, key=self.key)
            elif self._commanded(run):
                continue
            elif run.state in ENDED:
                if not self._compensated(run):
                    return
            else:
                self._act(run)

    def _act(self, run: Run) -> None:
        if run.due_at is not None or run.lease_until is not None:
            errand.Code.version = self.pen.notes.code
            self._wait_until(run, run.due_at or run.lease_until)
            if not runner.drive(run.ref):
                raise Stuck(f"{run.ref} is {run.state} and due, and can't be claimed")
            return
        found = waits.open_waits(run)
        if not found:
            self.pen.write("met", kind="lonely")
            recovery.sweep()
            return
        order = (WaitKind.HOLD, WaitKind.ATTENTION, WaitKind.GATE, WaitKind.EVENT, WaitKind.TIMER)
        self._answer(run, min(found, key=lambda wait: order.index(WaitKind(wait.kind))))

    def _answer(self, run: Run, wait: Wait) -> None:
        match WaitKind(wait.kind):
            case WaitKind.HOLD:
                runs.release(run.ref, actor=person.OPERATOR, reason="go on")
            case WaitKind.ATTENTION:
                person.attend(run, wait, self.vendor, self.pen, sweeps=self.schedule.sweeps)
            case WaitKind.GATE:
                person.answer_gate(wait, self.pen, self.schedule.reviewer)
            case WaitKind.EVENT:
                waits.deliver(run.ref, wait.name, {"is": "go"}, dedupe="once")
            case _:
                self._wait_until(run, wait.deadline)
                recovery._close(wait)

    def _wait_until(self, run: Run, moment: Any) -> None:
        left = (moment - clock.db_now()).total_seconds()
        if left >= 0:
            clockwork.passes(self.vendor, run.pk, left + 0.01)

    def _commanded(self, run: Run) -> bool:
        """Give the operator's command whose time has come, once, where the run can still take it."""
        for act, command in self.schedule.commands:
            if self.pen.notes.acts < act or command in self.pen.notes.told:
                continue
            self.pen.write("command", command=command)
            if run.state not in _FORWARD or run.held:
                continue
            self.pen.write("met", kind=f"commanded: {command}")
            if command == "hold":
                runs.hold(run.ref, actor=person.OPERATOR, reason="wait")
            else:
                undo = command.endswith("undo")
                runs.cancel(run.ref, actor=person.OPERATOR, reason="not wanted", undo=undo)
            return True
        return False

    def _compensated(self, run: Run) -> bool:
        """Have a completed run undone, which is the last part of an errand. Whether there was anything to do."""
        if run.state != RunState.COMPLETED or "first" not in ACTS[self.schedule.errand]:
            return False
        runs.compensate(run.ref, actor=person.OPERATOR, reason="the customer changed their mind")
        return True

    def _agent(self) -> str:
        return _AGENTS.get(self.schedule.errand, errand.Errands.name)

    def _input(self) -> dict[str, Any]:
        more = self.schedule.errand == "whole"
        trade = "as seen" if self.schedule.errand == WINDING else self.schedule.vendor.trade
        return {"trade": trade, "more": more, **self.pen.notes.names}


def prepare(schedule: Schedule, vendor: Vendor, pen: Pen, order: str) -> None:
    """A new vendor for a new schedule: an empty book, the ways of its class, what can be refunded, its misdeeds."""
    vendor.reset()
    vendor.modes(**schedule.vendor.modes)
    names = {"order": order, "first": f"first-{order}", "second": f"second-{order}"}
    if schedule.vendor.money:
        for name in CHARGES[schedule.errand]:
            names[name] = vendor.charge("200.00", "EUR")
    for fault in schedule.faults:
        vendor.fault(**fault)
    pen.write("names", names=names)


__all__ = ["InterlockError", "Stuck", "World", "prepare"]
