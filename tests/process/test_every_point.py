"""Every commit of the engine and every call to a vendor has its fault points: the logs of both servers say so.

The scenes go through all that a run can meet; whatever commits or asks on the way is held against the points passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from approvals.decisions import answer_back
from approvals.errors import Refused
from approvals.states import Verdict
from durable import (
    claims,
    faults,
    indexing,
    recovery,
    restoring,
    retention,
    runs,
    sending,
    steering,
    stops,
    transitions,
    vault,
    verdicts,
    waits,
)
from durable.adapters import stripe_refunds
from durable.author import GiveUp, Next, RunContext, seconds, step
from durable.ledger import outcome
from durable.models import Effect, Run
from durable.roots import builder, keeping
from durable.states import RunState
from durable.vendor_statements import requests
from tests.engine import agents, desk, people, stated, tools
from tests.process.watching import Watched, bare, by_superuser, calls, watching
from tests.vendors import Vendor

pytestmark = pytest.mark.process
OPERATOR: dict[str, Any] = {"actor": "tests", "reason": "to see it"}


@pytest.fixture
def seen(vendor: Vendor, transactional_db: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """A world that is watched. Pauses become timers, and `desk.time_passes` speaks as somebody whom no log shows."""
    monkeypatch.setattr(sending, "SHORT", timedelta(0))
    with watching() as found, agents.world():
        monkeypatch.setattr(desk, "time_passes", lambda **length: _time_passes(found, **length))
        for name in ("alice", "bob", "olga"):
            people.person(name)
        found.begin()
        yield found


def _time_passes(seen: Watched, **length: float) -> None:
    for table, columns in desk.MOMENTS.items():
        moves = ", ".join(
            f"{one} = {one} - interval '{timedelta(**length).total_seconds()} s'" for one in columns
        )
        by_superuser(seen.services, f"UPDATE {table} SET {moves}")


def asks(tool: Any, **args: Any) -> Run:
    """A run that wants one effect, as far as it gets by itself."""
    tools.asks((tool, args))
    return desk.drive(tools.start())


def a_desk_run(vendor: Vendor, seen: Watched) -> None:
    """Reads, refunds, asks before it mails, is asked back, answers, is told no; then all of it is undone."""
    desk.order(vendor)
    run = desk.drive(desk.start(reply_to="ada@example.org"))
    people.say(run, Verdict.ASK_BACK)
    answer_back(people.person("olga"), people.gates(run)[0].pk, "it is the right one")
    people.say(run, Verdict.REJECT)
    assert desk.drive(run).state == RunState.COMPLETED
    set_aside = asks(tools.set_aside, sku="MUG-BLUE")
    runs.compensate(set_aside.ref, **OPERATOR)
    assert desk.drive(set_aside).state == RunState.COMPENSATED


def a_thinking_run(vendor: Vendor, seen: Watched) -> None:
    """Reads, calls a model, pays; its lease is extended on the way. Later it is pruned, and its key destroyed."""
    run = agents.start("Walker")
    claim = claims.claim(run.ref)
    assert claim is not None and transitions.still_held(claim)
    desk.time_passes(hours=1)
    assert desk.drive(run).state == RunState.COMPLETED
    assert desk.drive(agents.start("Minder")).state == RunState.COMPLETED
    desk.time_passes(days=400)
    assert retention.prune().runs >= 1
    assert indexing.catch_up(60) > 0
    vault.destroy(run)


def a_gate(vendor: Vendor, seen: Watched) -> None:
    """Edited and approved, its facts change, it is asked again; another one is decided by the wrong person."""
    tools.world["holds"] = "yes"
    run = asks(tools.wire_out, charge=tools.charge(vendor, "500.00"), amount=Decimal(200))
    as_it_was = people.gates(run)[0]
    args = {**vault.read(Effect.objects.get(run=run).payload)["args"], "amount": "150"}
    people.say(run, Verdict.EDIT, args=args, words="partly")
    with pytest.raises(Refused):
        people.say(run, by="alice")  # who has edited it
    people.say(run, by="bob")
    tools.world["holds"] = "no"
    desk.drive(run)
    assert people.gates(run)[0].round > as_it_was.round
    people.say(run, by="bob")
    assert desk.drive(run).state == RunState.COMPLETED


def a_gate_that_nobody_decides(vendor: Vendor, seen: Watched) -> None:
    """It expires by the sweeper."""
    run = asks(tools.wire_out, charge=tools.charge(vendor), amount=Decimal(40))
    tools.later(run, days=20)
    assert desk.effects(run) == {"pay": "expired"}


def a_cut_reply(vendor: Vendor, seen: Watched) -> None:
    """Found by the look-up and adopted; found by the sweeper only; or put before a person, who knows."""
    vendor.fault("drop", method="POST", path="/v1/refunds")
    run = asks(tools.keyed, charge=tools.charge(vendor), amount=Decimal(40))
    assert tools.later(run, minutes=1).state == RunState.COMPLETED
    vendor.modes(keys="ignore", lookup_lag=1e6)
    vendor.fault("drop", method="POST", path="/v1/refunds")
    run = tools.later(asks(tools.unkeyed, charge=tools.charge(vendor), amount=Decimal(40)), minutes=5)
    assert desk.effects(run) == {"pay": "in doubt"}
    vendor.modes(lookup_lag=0)
    tools.later(run, hours=1)
    assert desk.effects(run) == {"pay": "applied"}
    vendor.fault("drop", method="POST", path="/v1/refunds")
    opaque = tools.later(asks(tools.opaque, charge=tools.charge(vendor), amount=Decimal(40)), minutes=5)
    verdicts.happened(f"{opaque.ref}:pay", receipt_id="re_1", **OPERATOR)
    assert desk.drive(opaque).state == RunState.COMPLETED


def a_late_answer(vendor: Vendor, seen: Watched) -> None:
    """A worker without its lease adds what it knows."""
    run = asks(tools.keyed, charge=tools.charge(vendor), amount=Decimal(40))
    outcome.late(run.ref, f"{run.ref}:pay", "worker", None, "the request got no usable answer")


def commands(vendor: Vendor, seen: Watched) -> None:
    """What operators do."""
    run = asks(tools.wire_out, charge=tools.charge(vendor), amount=Decimal(40))
    runs.hold(run.ref, **OPERATOR)
    steering.edit_state(run.ref, {}, **OPERATOR)
    runs.release(run.ref, **OPERATOR)
    runs.cancel(run.ref, **OPERATOR)
    assert desk.drive(run).state == RunState.CANCELLED
    order = stops.order("all", **OPERATOR)
    stopped = desk.drive(agents.start("Looper"))
    stops.lift(order.pk, **OPERATOR)
    assert desk.drive(stopped).state == RunState.COMPLETED
    steering.fork(stopped.ref, 1, **OPERATOR)


def failures(vendor: Vendor, seen: Watched) -> None:
    """A step that fails is put off, gets stuck and is skipped; another one gives its run up."""

    @step(retries=1, backoff=seconds(1))
    def stumble(self: Any, run: RunContext) -> Next:
        raise ValueError("a stumble")

    @step
    def despair(self: Any, run: RunContext) -> Next:
        raise GiveUp("it is of no use")

    run = desk.drive(agents.run_of(stumble, despair))
    run = tools.later(run, minutes=1)
    assert run.state == RunState.SUSPENDED
    steering.skip(run.ref, **OPERATOR)
    assert tools.later(desk.drive(run)).state == RunState.FAILED


def waiting(vendor: Vendor, seen: Watched) -> None:
    """A timer that the sweeper ends, an event that comes, and a run that nothing would wake."""

    @step
    def rest(self: Any, run: RunContext) -> Next:
        run.sleep(timedelta(minutes=5))
        run.wait_for("news", within=timedelta(days=1))
        return None

    run = tools.later(desk.drive(agents.run_of(rest)), minutes=6)
    waits.deliver(run.ref, "news", {"good": True}, dedupe="1")
    assert desk.drive(run).state == RunState.COMPLETED
    lonely = desk.drive(agents.run_of(rest))
    by_superuser(seen.services, f"DELETE FROM durable_wait WHERE run_id = {lonely.pk}")
    recovery.sweep()
    assert desk.drive(lonely).state == RunState.SUSPENDED


def a_restore(vendor: Vendor, seen: Watched) -> None:
    """The database came out of a backup: the vendors are asked for their accounts."""
    restoring.restored(**OPERATOR)


def a_statement(vendor: Vendor, seen: Watched) -> None:
    """The vendor's accounts of the day before, and of what has been done here, held against the ledger."""
    by_superuser(
        seen.services,
        'INSERT INTO durable_statementrequest (vendor, account, asked_by, tries, trouble, start, "end")'
        " VALUES ('stripe', '', 'tests', 0, '', now() - interval '1 day', now())",
    )
    assert requests.plan(stated.midnight() + timedelta(hours=13)) == 1
    assert requests.work() == 2


def a_root(vendor: Vendor, seen: Watched) -> None:
    """Over all that has happened so far, and kept outside."""
    assert builder.build() == 1
    assert keeping.keep() == 0


SCENES: tuple[Callable[[Vendor, Watched], None], ...] = (
    a_desk_run, a_thinking_run, a_gate, a_gate_that_nobody_decides, a_cut_reply, a_late_answer, commands, failures,
    waiting, a_restore, a_statement, a_root,
)  # fmt: skip


def test_no_commit_and_no_vendor_call_is_without_its_fault_points(vendor: Vendor, seen: Watched) -> None:
    with faults.watched(seen.mark):
        for scene in SCENES:
            vendor.modes(keys="honour", lookup_lag=0)
            scene(vendor, seen)
    assert seen.bare() == []
    assert outside(seen.passed, vendor) == []
    beats = {point.split(".")[0] for _, point in seen.passed}
    assert {*faults.BEATS, *faults.CALLS} - beats == set()


def outside(passed: list[tuple[float, str]], vendor: Vendor) -> list[dict[str, Any]]:
    """Requests that reached the vendor while the engine had passed no point before a call."""
    spans = calls(passed)
    return [one for one in vendor.requests() if not any(a <= one["at"] <= b for a, b in spans)]


def test_a_commit_or_call_without_points_would_be_noticed(vendor: Vendor, settings: Any) -> None:
    before, after = "SELECT 'passes end.before_commit'", "SELECT 'passes end.after_commit'"
    write = 'UPDATE "durable_run" SET held = true'
    good = ["BEGIN", write, before, "COMMIT", after, before, write, after, "BEGIN", "SELECT 1", "COMMIT"]
    assert list(bare(good)) == []
    assert list(bare([*good, write])) == [f"{write} after COMMIT"]
    assert list(bare(["BEGIN", write, "COMMIT"])) == [f"COMMIT after {write}"]
    assert list(bare(["BEGIN", write, before, "COMMIT"])) == [f"COMMIT after {before}"]

    stripe_refunds.charge_facts(tools.charge(vendor))
    assert [one["method"] for one in outside([], vendor)] == ["GET"]
