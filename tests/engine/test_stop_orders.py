"""Stop orders: nothing more leaves of one agent, of one tool, or at all."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction

from durable import plan, recovery, stops, suspending
from durable import tools as registry
from durable.author import Next, RunContext, step
from durable.errors import Conflict, Invalid
from durable.models import Run, Stop, Wait
from durable.models.fields import Clock
from durable.states import RunState
from durable.transitions import lock_run
from tests.engine import agents, desk, people, tools
from tests.together import somebody_waits
from tests.vendors import Vendor

pytestmark = pytest.mark.django_db(transaction=True)


# Stop orders


def paying() -> Run:
    return agents.start("Walker")


@pytest.mark.parametrize(("scope", "name"), [("all", ""), ("agent", "Walker"), ("tool", "pay")])
def test_a_stop_order_lets_nothing_leave_until_it_is_lifted(scope: str, name: str) -> None:
    order = stops.order(scope, name, actor="olga", reason="something smells")
    run = desk.drive(paying())
    assert run.state == RunState.SUSPENDED
    assert agents.moved == {}
    assert stops.lift(order.pk, actor="olga", reason="it was the cheese") == 1
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert len(agents.moved) == 1


@pytest.mark.parametrize(
    ("scope", "name"), [("agent", "RefundDesk"), ("tool", "post_letter"), ("agent", "pay")]
)
def test_a_stop_order_for_another_agent_or_tool_stops_nobody_else(scope: str, name: str) -> None:
    with transaction.atomic():
        stops.placed(scope, name, actor="olga", reason="something smells")
    assert desk.drive(paying()).state == RunState.COMPLETED


@pytest.mark.parametrize(("scope", "name"), [("agent", "RefundDesk"), ("tool", "pay")])
def test_a_stop_order_for_another_agent_or_tool_keeps_nothing_in_that_people_let_out(
    scope: str, name: str, kit: Vendor
) -> None:
    tools.asks((tools.letter, {"to": "ada@example.org"}))
    run = desk.drive(tools.start())
    stops.order(scope, name, actor="olga", reason="something smells")
    people.say(run)
    assert desk.drive(run).state == RunState.COMPLETED


def test_a_stop_order_that_is_lifted_while_a_run_comes_to_it_does_not_hold_it_for_ever() -> None:
    order = stops.order("all", actor="olga", reason="something smells")
    run = paying()
    find = suspending._lifted

    def late(stop: int | None) -> bool:
        if not Wait.objects.exists():
            desk.meanwhile(lambda: stops.lift(order.pk, actor="olga", reason="done"))
        return find(stop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suspending, "_lifted", late)
        desk.drive(run)
    assert run.state == RunState.QUEUED
    assert desk.drive(run).state == RunState.COMPLETED


def test_a_stop_order_that_is_given_while_an_intent_waits_for_the_run_lets_nothing_leave() -> None:
    locked = threading.Event()

    def stand_still(run_ref: str) -> None:
        """As a page that locks the run, and is slow: meanwhile the order is given."""
        with transaction.atomic():
            lock_run(run_ref)
            locked.set()
            desk.until(somebody_waits)
            desk.meanwhile(lambda: orders.append(stops.order("all", actor="olga", reason="it smells")))
        connection.close()

    @step
    def act(self: Any, run: RunContext) -> Next:
        if not orders:
            slow.append(threading.Thread(target=stand_still, args=[run.ref]))
            slow[0].start()
            assert locked.wait(20)
        run.effect(agents.pay, order="1", amount=Decimal(40), currency="EUR")
        return None

    orders: list[Stop] = []
    slow: list[threading.Thread] = []
    run = desk.drive(agents.run_of(act))
    slow[0].join()
    assert run.state == RunState.SUSPENDED
    assert (agents.asked, desk.effects(run)) == ([], {})
    assert run.waits.get(state="open").detail == {"stop": orders[0].pk}
    stops.lift(orders[0].pk, actor="olga", reason="it was the cheese")
    assert desk.drive(run).state == RunState.COMPLETED
    assert len(agents.moved) == 1


@pytest.mark.parametrize(
    ("scope", "name", "known"),
    [
        ("tool", "apy", "pay, "),
        ("agent", "Wakler", "Walker"),
        ("tool", "Walker", "pay, "),
        ("agent", "pay", "Walker"),
    ],
)
def test_a_stop_of_what_there_is_not_is_refused_and_names_what_there_is(
    scope: str, name: str, known: str
) -> None:
    with pytest.raises(Invalid, match=rf"^name: no {scope} '{name}'; known are .*{known}"):
        stops.order(scope, name, actor="olga", reason="something smells")
    assert not Stop.objects.exists()


@pytest.mark.parametrize(("scope", "name"), [("agent", "Walker"), ("tool", "pay")])
def test_what_older_code_ran_can_be_stopped_though_nobody_declares_it_any_more(
    scope: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.drive(paying())
    monkeypatch.delitem(plan._agents, "Walker")
    with registry.isolated(empty=True):
        assert stops.order(scope, name, actor="olga", reason="something smells").name == name


def test_an_undo_can_be_stopped_by_its_name() -> None:
    assert stops.order("tool", "_put_back", actor="olga", reason="something smells").name == "_put_back"


def test_no_stop_is_refused_while_an_agents_module_is_broken(settings: Any) -> None:
    settings.INTERLOCK_AGENTS = ("no_such_module",)
    assert stops.order("tool", "theirs", actor="olga", reason="something smells").name == "theirs"


def test_a_doubled_order_and_a_lifted_one_are_told() -> None:
    order = stops.order("all", actor="olga", reason="something smells")
    with pytest.raises(Conflict, match="stopped already"):
        stops.order("all", actor="otto", reason="me too")
    stops.lift(order.pk, actor="olga", reason="done")
    with pytest.raises(Conflict, match="lifted already"):
        stops.lift(order.pk, actor="otto", reason="me too")
    stops.order("all", actor="otto", reason="again")


def test_a_run_whose_order_was_lifted_by_somebody_who_then_crashed_is_let_go_by_the_sweeper() -> None:
    order = stops.order("all", actor="olga", reason="something smells")
    run = desk.drive(paying())
    Stop.objects.filter(pk=order.pk).update(lifted_at=Clock(), lifted_by="olga")  # and no more than that
    recovery.sweep()
    assert desk.drive(run).state == RunState.COMPLETED
