"""Waiting runs and open gates are pairs, whatever crashes in between; a pair that is broken is mended and told."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from approvals.models import Gate
from approvals.states import LIVE_VALUES
from durable import fairly, faults, journal, recovery, runner, waits
from durable.author import Budget, Money, Next, RunContext, step
from durable.models import Effect, Purse, Run, Wait
from durable.states import RunState, WaitKind
from tests.engine import agents, desk, people
from tests.engine.held import check_chains, check_purses
from tests.engine.resting import napping
from tests.engine.scenes import Killed, die

pytestmark = pytest.mark.django_db(transaction=True)
ENDED = ("completed", "failed", "cancelled", "compensated", "partly compensated")


@pytest.fixture(autouse=True)
def _held() -> Iterator[None]:
    fairly._failed.clear()
    yield
    check_purses()
    check_chains()
    check_pairs()


def check_pairs() -> None:
    """From rows alone: each run at rest has a cause, each open gate a run that waits at it, and no end has any."""
    waiting = set(Wait.objects.filter(state="open", kind="gate").values_list("pk", flat=True))
    shown = set(Gate.objects.filter(state__in=LIVE_VALUES).values_list("wait_id", flat=True))
    assert waiting == shown, "what the engine waits for is not what people are shown"
    for run in Run.objects.all():
        causes = [w for w in Wait.objects.filter(run=run, state="open") if not w.detail.get("alarm")]
        gated = set(Effect.objects.filter(run=run, state="gated").values_list("pk", flat=True))
        assert gated == {w.effect_id for w in causes if w.kind == "gate"}, (
            f"{run}: gates and gated effects differ"
        )
        if run.state == "suspended":
            assert causes, f"{run} waits for nothing"
        if run.state in ENDED:
            assert not causes, f"{run} has ended and something is open"


@step
def write(self: Any, run: RunContext) -> Next:
    """Ask people, then write."""
    run.result = run.effect(agents.write_letter, to="ada").id
    return None


@step
def pay(self: Any, run: RunContext) -> Next:
    """Pay more than anybody may without being asked."""
    run.effect(agents.pay, order="1", amount=Decimal(150), currency="EUR")
    return None


def gated(what: Any = write) -> Run:
    agents.define("Asker", what, budget=Budget(money=Money(500, "EUR")))
    run = desk.drive(agents.start("Asker"))
    assert list(desk.effects(run).values()) == ["gated"]
    return run


def recovered(run: Run) -> Run:
    """Time passes, the sweeper sweeps, workers drive: until nothing moves any more."""
    for _ in range(4):
        desk.time_passes(minutes=1)
        recovery.sweep()
        desk.drive(run)
    return run


@pytest.mark.parametrize(
    "point", ["intent.before_commit", "intent.after_commit", "suspend.before_commit", "suspend.after_commit"]
)
def test_a_crash_between_waiting_and_its_gate_leaves_both_or_neither(point: str) -> None:
    agents.define("Asker", write)
    run = agents.start("Asker")
    faults.arm(point, die)
    with pytest.raises(Killed):
        desk.drive(run)
    assert recovered(run).state == RunState.SUSPENDED
    check_pairs()
    assert len(people.gates(run)) == 1
    people.say(run)
    assert recovered(run).state == RunState.COMPLETED
    assert len(agents.asked) == 1


@pytest.mark.parametrize("point", ["decision.before_commit", "decision.after_commit", "sent.before_commit"])
def test_a_crash_between_a_decision_and_its_runs_release_loses_neither(point: str) -> None:
    run = gated()
    faults.arm(point, die)
    with pytest.raises(Killed):
        people.say(run)
        desk.drive(run)
    check_pairs()
    recovered(run)
    if people.gates(run):
        people.say(run)
    assert recovered(run).state == RunState.COMPLETED
    assert len(agents.asked) == 1


# Broken by a hand in the database, or by a table that was restored from yesterday.


def test_a_gate_that_was_lost_is_asked_about_anew_and_the_old_question_is_closed() -> None:
    run = gated()
    Wait.objects.filter(run=run).update(state="withdrawn")
    Run.objects.filter(pk=run.pk).update(held=True)  # so that no worker comes first
    assert recovery.sweep()["unasked"] == 1
    Run.objects.filter(pk=run.pk).update(held=False)
    check_pairs()
    (gate,) = people.gates(run)
    assert gate.round == 2 and "lost" in gate.reason
    assert recovery.sweep()["unasked"] == 0
    people.say(run)
    assert recovered(run).state == RunState.COMPLETED
    assert len(agents.asked) == 1


def test_a_run_that_is_driven_over_a_lost_gate_asks_anew_and_does_not_go_round_and_round() -> None:
    run = gated()
    Wait.objects.filter(run=run).update(state="withdrawn")
    Run.objects.filter(pk=run.pk).update(state="queued", due_at=run.created_at)
    assert desk.drive(run).state == RunState.SUSPENDED
    assert not runner.drive(run.ref)
    assert [gate.round for gate in people.gates(run)] == [2]


def test_an_effect_in_doubt_that_nobody_is_asked_about_is_put_before_a_person_again() -> None:
    agents.define("Asker", pay, budget=Budget(money=Money(500, "EUR")))
    run = gated(pay)
    people.say(run)
    faults.arm("outcome.before_commit", die)
    with pytest.raises(Killed):
        desk.drive(run)
    desk.time_passes(minutes=5)
    Effect.objects.filter(run=run).update(state="in doubt", next_look_at=None)
    Run.objects.filter(pk=run.pk).update(state="suspended", lease_until=None, due_at=None)
    recovery.sweep()
    assert desk.drive(run).state == RunState.SUSPENDED
    (wait,) = waits.open_waits(run)
    assert (wait.kind, wait.name, wait.waits_for) == ("attention", "in doubt", "operator")


def test_a_lost_gate_whose_tool_is_gone_is_told_to_a_person() -> None:
    run = gated()
    Wait.objects.filter(run=run).update(state="withdrawn")
    Gate.objects.update(state="withdrawn")
    Effect.objects.filter(run=run).update(tool="gone")
    for _ in range(2):
        recovery.sweep()
    (wait,) = waits.open_waits(run, WaitKind.ATTENTION)
    assert wait.name == "code missing" and "gone" in wait.detail["sentence"]
    Effect.objects.filter(run=run).update(tool=agents.write_letter.name)  # it is back
    assert recovery.sweep()["unasked"] == 1
    assert len(people.gates(run)) == 1


def test_an_ended_run_with_an_open_gate_takes_it_back_with_its_money() -> None:
    run = gated(pay)
    Run.objects.filter(pk=run.pk).update(state="failed", ended_at=run.created_at, due_at=None)
    assert Purse.objects.get().reserved_minor == 15_000
    assert recovery.sweep()["undecided"] == 1
    assert desk.effects(run) == {"pay": "withdrawn"}
    assert Purse.objects.get().reserved_minor == 0
    assert journal.events(run.ref)[-1].kind == "withdrawn"
    assert recovery.sweep()["undecided"] == 0


def test_an_ended_run_keeps_its_alarms_and_loses_its_other_waits() -> None:
    run = napping()
    Run.objects.filter(pk=run.pk).update(state="completed", ended_at=run.created_at, due_at=None)
    alarm = {"kind": "attention", "waits_for": "operator", "state": "open"}
    kept = Wait.objects.create(run=run, name="conflict", detail={"alarm": True}, **alarm)
    Wait.objects.create(run=run, name="retries spent", **alarm)
    assert recovery.sweep()["idle"] == 2
    assert [wait.pk for wait in waits.open_waits(run)] == [kept.pk]


def test_a_run_that_waits_at_a_gate_which_is_answered_goes_on_and_nothing_leaves_without_a_yes() -> None:
    run = gated()
    Effect.objects.filter(run=run).update(state="approved", approved_round=1)
    assert recovery.sweep()["idle"] == 1
    assert desk.drive(run).state == RunState.SUSPENDED
    assert agents.asked == []
    assert [gate.round for gate in people.gates(run)] == [2]
