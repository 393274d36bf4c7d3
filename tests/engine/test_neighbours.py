"""What is done to one effect or run changes no row of another: not of one in mid-effect, before people, or in doubt."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F

from durable import claims, runs, waits
from durable.author import Agent, GiveUp, Money, Next, RunContext, hours, step
from durable.author import Budget as Limits
from durable.models import Effect, Run
from durable.states import ENDED, RunState, WaitKind
from durable.transitions import lock_run
from tests.engine import desk, people, tools
from tests.engine.rows import Picture, picture
from tests.engine.scenes import WHY, Killed, args, crash_before_the_wire, doubtful, refund, sku
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")


class Thinker(Agent):
    """Asks a model, and refunds at the same place at which the other runs do."""

    budget = Limits(steps=100, money=(Money(500, "EUR"),), deadline=hours(24 * 30))

    @step(retries=3)
    def pay(self, run: RunContext) -> Next:
        answer = run.model(think, "q", tokens=50)
        wanted, asked = tools.script["main"][0]
        run.effect(wanted, **asked)
        run.result = answer
        return None


thoughts: list[BaseException] = []


def think(request: Any) -> tuple[Any, int]:
    if thoughts:
        raise thoughts.pop()
    return "answer", 10


def cut_off_while_thinking() -> Run:
    """A run whose model was asked, and whose worker died before the answer."""
    run = runs.start("Thinker", {"script": "main"}, actor="tests")
    thoughts.append(Killed())
    with pytest.raises(Killed):
        desk.drive(run)
    return run


@pytest.fixture
def neighbours(vendor: Vendor) -> list[tuple[Run, Picture]]:
    """Runs that stand at the same place of their agent as the one that is worked on, each amid something.

    Each with its rows as they were when it had come there: what is done for the next one must not touch it either.
    """
    found: list[tuple[Run, Picture]] = []

    def stand(run: Run) -> None:
        found.append((run, picture(run)))

    doubted = doubtful(vendor)
    vendor.modes(keys="honour", lookup_lag=0)
    sent = refund(vendor)
    crash_before_the_wire(sent)  # which lets time pass for all
    stand(doubted)
    stand(sent)
    tools.asks((tools.letter, {"to": "ada@example.org"}))
    asking = desk.drive(tools.start())
    assert people.gates(asking)
    stand(asking)
    stand(cut_off_while_thinking())
    stand(giving_up())
    tools.asks(sku("N"))
    turning_back = desk.drive(tools.start())
    runs.compensate(turning_back.ref, **WHY)
    stand(turning_back)
    tools.asks((tools.keyed, args(vendor)))
    leaving = tools.start()
    runs.cancel(leaving.ref, **WHY)
    stand(leaving)
    return found


def giving_up() -> Run:
    """A run that has turned towards its failure and is not there yet."""
    run = runs.start("Thinker", {"script": "main"}, actor="tests")
    thoughts.append(GiveUp("enough"))
    desk.drive(run)
    assert run.state == RunState.FAILING
    return run


Scene = Callable[[Vendor], Run]


def applied(vendor: Vendor) -> Run:
    return desk.drive(refund(vendor))


def refused(vendor: Vendor) -> Run:
    vendor.fault("status", status=402, method="POST", path="/v1/refunds")
    return desk.drive(refund(vendor))


def refused_after_a_silence(vendor: Vendor) -> Run:
    vendor.fault("hang", seconds=0, method="POST", path="/v1/refunds")
    vendor.fault("status", status=400, method="POST", path="/v1/refunds", times=0)
    return _on(desk.drive(refund(vendor)))


def not_sent(vendor: Vendor) -> Run:
    vendor.fault("status", status=429, method="POST", path="/v1/refunds")
    return _on(desk.drive(refund(vendor)))


def failed_and_kept_by_the_vendor(vendor: Vendor) -> Run:
    vendor.fault("status", status=500, method="POST", path="/v1/refunds")
    return _on(desk.drive(refund(vendor)))


def looked_up(vendor: Vendor) -> Run:
    vendor.modes(keys="ignore", lookup_lag=3)
    vendor.fault("drop", method="POST", path="/v1/refunds")
    return _on(desk.drive(refund(vendor, tools.unkeyed)))


def answered_late(vendor: Vendor) -> Run:
    run = refund(vendor)

    def sleep(*_: object) -> None:
        tools.after.clear()
        run_out(run)
        assert claims.claim(run.ref) is not None

    tools.after.append(sleep)
    desk.drive(run)
    run_out(run)
    return _on(run)


def let_out_by_people(vendor: Vendor) -> Run:
    tools.asks((tools.letter, {"to": "bob@example.org"}))
    run = desk.drive(tools.start())
    people.say(run)
    return desk.drive(run)


def cancelled_before_people_answered(vendor: Vendor) -> Run:
    tools.asks((tools.letter, {"to": "bob@example.org"}))
    run = desk.drive(tools.start())
    runs.cancel(run.ref, **WHY)
    return desk.drive(run)


def undone(vendor: Vendor) -> Run:
    tools.asks(sku("A"), sku("B"))
    run = desk.drive(tools.start())
    runs.compensate(run.ref, **WHY)
    desk.drive(run)
    assert run.state == RunState.COMPENSATED
    return run


def thought_anew(vendor: Vendor) -> Run:
    tools.asks((tools.keyed, args(vendor)))
    run = cut_off_while_thinking()
    run_out(run)
    return _on(run)


def cancelled_while_thinking(vendor: Vendor) -> Run:
    run = cut_off_while_thinking()
    run_out(run)
    runs.cancel(run.ref, **WHY)
    return _on(run)


def given_up(vendor: Vendor) -> Run:
    tools.asks((tools.keyed, args(vendor)))
    return _on(giving_up())


def run_out(run: Run) -> None:
    """Only this run's lease."""
    Run.objects.filter(pk=run.pk).update(lease_until="2020-01-01T00:00:00Z")


def _on(run: Run) -> Run:
    """Drive it, whatever its timers say, until it has ended or waits for people."""
    for _ in range(8):
        for wait in waits.open_waits(run, WaitKind.TIMER):
            with transaction.atomic():
                waits.resolve(lock_run(run.ref), wait, by="clock")
        Run.objects.filter(pk=run.pk).update(due_at="2020-01-01T00:00:00Z")
        sent = {name: F(name) - timedelta(minutes=1) for name in desk.MOMENTS["durable_effect"]}
        Effect.objects.filter(run=run, settled_at=None).update(**sent)
        desk.drive(run)
    return run


SCENES: tuple[Scene, ...] = (
    applied,
    refused,
    refused_after_a_silence,
    not_sent,
    failed_and_kept_by_the_vendor,
    looked_up,
    answered_late,
    let_out_by_people,
    cancelled_before_people_answered,
    undone,
    thought_anew,
    cancelled_while_thinking,
    given_up,
)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__.replace("_", " "))
def test_no_row_of_another_run_is_changed_by_a_run_that_is(
    vendor: Vendor, neighbours: list[tuple[Run, Picture]], scene: Scene
) -> None:
    run = scene(vendor)
    assert run.state in ENDED or tools.attention(run)
    for other, before in neighbours:
        assert other.pk != run.pk
        assert picture(other) == before


@pytest.mark.parametrize(
    "fault",
    [
        {},
        {"kind": "status", "status": 402},
        {"kind": "status", "status": 429},
        {"kind": "status", "status": 500},
        {"kind": "hang", "seconds": 0},
    ],
    ids=["applied", "refused", "not sent", "failed and kept", "silent"],
)
def test_an_effect_that_is_settled_is_not_changed_by_the_next_one_of_its_run(
    vendor: Vendor, fault: dict[str, Any]
) -> None:
    tools.asks((tools.keyed, args(vendor)), (tools.keyed, args(vendor)))
    run = tools.start()
    first: list[Any] = []

    def second(call: Any) -> None:
        if not call.key.endswith(":pay") and not first:
            first.extend(Effect.objects.filter(run=run, key=f"{run.ref}:pay").values())
            if fault:
                vendor.fault(**fault, method="POST", path="/v1/refunds")

    tools.before.append(second)
    _on(desk.drive(run))
    assert first and first[0]["state"] == "applied"
    assert list(Effect.objects.filter(run=run, key=f"{run.ref}:pay").values()) == first
