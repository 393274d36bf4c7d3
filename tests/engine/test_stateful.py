"""Anything in any order: starts, answers, crashes, sweeps, verdicts and commands, with every law checked after each."""

from __future__ import annotations

import os
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as some
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from approvals.states import Verdict
from durable import faults, recovery, retention, runs, steering, verdicts
from durable.errors import InterlockError
from durable.models import Checkpoint, Effect, Run
from durable.states import ENDED, EffectState
from tests.engine import desk, laws, people, tools
from tests.engine.scenes import WHY, Killed, die
from tests.vendors import Vendor

#: More of it: `STATEFUL_EXAMPLES=500 pytest tests/engine/test_stateful.py`.
EXAMPLES = int(os.environ.get("STATEFUL_EXAMPLES", "12"))
STEPS = 20
BEATS = {
    "claim", "intent", "sent", "vendor", "outcome", "lookup", "adopt", "checkpoint", "suspend", "end", "undo",
    "withdraw",
}  # fmt: skip
POINTS = sorted(point for point in faults.POINTS if point.split(".")[0] in BEATS)
VERDICTS = (Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT)
TOOLS = (tools.keyed, tools.unkeyed, tools.opaque, tools.wire_out)
FAULTS = ("drop", "hang", "status", "garbage")


class Anything(RuleBasedStateMachine):
    """Runs of one to three refunds each, at a vendor that honours keys for those tools that say so."""

    vendor: Vendor
    begun = Bundle("begun")

    def __init__(self) -> None:
        super().__init__()
        faults.disarm_all()
        self.vendor.clear_faults()
        self.all: list[Run] = []
        self.used: dict[int, tuple[int, int, int]] = {}

    @initialize(keys=some.sampled_from(("honour", "ignore")))
    def vendor_is(self, keys: str) -> None:
        self.keys = keys
        self.vendor.reset()
        self.vendor.modes(keys=keys, lookup_lag=0)
        tools.world["holds"] = "yes"

    @rule(target=begun, wanted=some.lists(some.sampled_from(TOOLS), min_size=1, max_size=3))
    def start(self, wanted: list[Any]) -> Run:
        # A tool that declares what its vendor does not keep to is outside of every promise.
        honest = [tools.unkeyed if one is tools.keyed and self.keys == "ignore" else one for one in wanted]
        name = f"script {len(self.all)}"
        tools.asks(
            *((one, {"charge": tools.charge(self.vendor), "amount": Decimal(20)}) for one in honest),
            name=name,
        )
        run = tools.start(name=name)
        self.all.append(run)
        return run

    @rule(run=begun)
    def drive(self, run: Run) -> None:
        desk.drive(run)

    @rule(run=begun, point=some.sampled_from(POINTS), hit=some.integers(1, 3))
    def crash(self, run: Run, point: str, hit: int) -> None:
        """The worker dies at a point, if it gets there; its lease runs out."""
        faults.arm(point, die, hit=hit)
        try:
            desk.drive(run)
        except Killed:
            desk.time_passes(minutes=1)
        finally:
            faults.disarm_all()

    @rule(kind=some.sampled_from(FAULTS))
    def something_goes_wrong_at_the_vendor(self, kind: str) -> None:
        more = {"status": 503} if kind == "status" else {"seconds": 0} if kind == "hang" else {}
        self.vendor.fault(kind, method="POST", path="/v1/refunds", **more)

    @rule(minutes=some.sampled_from((1, 10, 300)))
    def time_passes(self, minutes: int) -> None:
        desk.time_passes(minutes=minutes)

    @rule()
    def sweep(self) -> None:
        recovery.sweep()

    @rule(
        run=begun,
        verdict=some.sampled_from(VERDICTS),
        by=some.sampled_from(("alice", "bob")),
    )
    def answer(self, run: Run, verdict: Verdict, by: str) -> None:
        """What a reviewer says, if anybody is asked; a refusal of the product is as good an answer."""
        gates = people.gates(run)
        if not gates:
            return
        more = (
            {"args": {"charge": tools.charge(self.vendor), "amount": "15"}} if verdict is Verdict.EDIT else {}
        )
        words = "not so" if verdict is not Verdict.APPROVE else ""
        _may_refuse(people.say, run, verdict, by=by, words=words, **more)

    @rule(run=begun)
    def settle(self, run: Run) -> None:
        """An honest person looks into the vendor's book and says what it shows."""
        for effect in Effect.objects.filter(run=run, state=EffectState.IN_DOUBT.value):
            moved = [one["id"] for one in self.vendor.book() if one["key"] == effect.key]
            if moved:
                _may_refuse(verdicts.happened, effect.key, receipt_id=moved[0], **WHY)
            else:
                desk.time_passes(minutes=10)
                _may_refuse(verdicts.did_not, effect.key, **WHY)

    @rule(run=begun, undo=some.booleans())
    def cancel(self, run: Run, undo: bool) -> None:
        _may_refuse(runs.cancel, run.ref, undo=undo, **WHY)

    @rule(
        run=begun,
        act=some.sampled_from((runs.hold, runs.release, runs.compensate, steering.retry, steering.skip)),
    )
    def command(self, run: Run, act: Any) -> None:
        _may_refuse(act, run.ref, **WHY)

    @rule(target=begun, run=begun)
    def fork(self, run: Run) -> Run:
        kept = Checkpoint.objects.filter(run=run).order_by("id").first()
        made = None if kept is None else _may_refuse(steering.fork, run.ref, kept.version, **WHY)
        if isinstance(made, Run):
            self.all.append(made)
            return made
        return run

    @rule()
    def prune(self) -> None:
        desk.time_passes(days=10)
        retention.prune()

    @invariant()
    def every_law_holds(self) -> None:
        laws.check(self.all, self.vendor.book())
        for run in self.all:
            before, now = self.used.get(run.pk, (0, 0, 0)), laws.spent(run)
            assert all(one <= other for one, other in zip(before, now, strict=True)), "a budget was refilled"
            self.used[run.pk] = now

    def teardown(self) -> None:
        """From wherever they are, all runs come to an end, or to a person who can bring them there."""
        self.vendor.clear_faults()
        for _ in range(12):
            for run in self.all:
                desk.time_passes(minutes=10)
                recovery.sweep()
                desk.drive(run)
                self.settle(run)
                if people.gates(run):
                    self.answer(run, Verdict.REJECT, "alice")
                if run.held:
                    _may_refuse(runs.release, run.ref, **WHY)
                elif run.state not in ENDED and tools.attention(run):
                    _may_refuse(runs.cancel, run.ref, **WHY)
            if all(run.state in ENDED for run in self.all):
                break
        self.every_law_holds()
        hanging = {
            run.ref: (run.state, desk.effects(run), tools.attention(run))
            for run in self.all
            if run.state not in ENDED
        }
        assert hanging == {}


def _may_refuse(act: Any, *args: Any, **more: Any) -> Any:
    """Do it; that the product refuses, in words, is no fault of it."""
    try:
        return act(*args, **more)
    except InterlockError:
        return None


def test_whatever_happens_in_whatever_order_every_law_holds(kit: Vendor) -> None:
    Anything.vendor = kit
    for name in ("alice", "bob"):
        people.person(name)
    run_state_machine_as_test(
        Anything,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
