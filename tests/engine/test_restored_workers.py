"""Workers that look up what a restore may have forgotten: told to end they leave it to others; none hangs for ever."""

from __future__ import annotations

import threading

import pytest

from durable import clock, draining, faults, runs
from durable.claims import Heartbeat
from durable.reconcile import LOOKUP_TIMEOUT
from durable.states import RunState
from durable.transitions import Claim
from durable.vendor import Absent, Call, LookupAnswer
from tests.engine import desk, tools
from tests.engine.restored import done_meanwhile, restored, wants
from tests.engine.scenes import FORTY, WHY
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


def test_a_worker_that_is_to_end_leaves_the_look_up_to_another(vendor: Vendor) -> None:
    args = wants(vendor)
    run = tools.start()
    done_meanwhile(run, args)
    restored()
    asked = len(vendor.requests("GET", "/v1/refunds"))
    faults.arm("intent.after_commit", draining.begin)
    run = desk.drive(run)
    assert (run.state, run.lease_until) == (RunState.QUEUED, None)
    assert len(vendor.requests("GET", "/v1/refunds")) == asked
    draining.renew()
    assert desk.drive(run).state == RunState.COMPLETED
    assert vendor.moved() == FORTY


def claim_of(run_ref: str) -> Claim:
    """What the worker that is at the run holds it by."""
    beating = [one for one in threading.enumerate() if isinstance(one, Heartbeat)]
    return next(one.claim for one in beating if one.claim.run_ref == run_ref)


@pytest.mark.parametrize("ending", [False, True], ids=["forward", "ending"])
def test_a_look_up_that_hangs_loses_the_run_soon(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, ending: bool
) -> None:
    left: list[float] = []

    def look(call: Call) -> LookupAnswer:
        claim = claim_of(call.run)
        left.append(claim.hung_from - clock.elapsed() - claim.lease.total_seconds())
        return Absent()

    wants(vendor, tools.keyed, "140.00")
    run = desk.drive(tools.start())
    restored()
    if ending:
        runs.cancel(run.ref, **WHY)
    monkeypatch.setattr(tools.keyed, "lookup_function", look)
    desk.drive(run)
    assert left
    assert max(left) <= LOOKUP_TIMEOUT
