"""Budgets: what is used stays used, whoever resumes, retries or forks; the last unit goes to one."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from threading import Event
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F

from durable import claims, faults, frozen, ledger, recovery, runs, steering
from durable.author import Budget, GiveUp, Money, Next, RunContext, hours, step
from durable.errors import BudgetExhausted
from durable.ledger import Ask, Place
from durable.models import Budget as Stored
from durable.models import Purse, Run, Wait
from durable.states import RunState
from durable.transitions import Claim
from tests.engine import agents, desk
from tests.engine.scenes import Killed, die
from tests.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)
BY: dict[str, Any] = {"actor": "olga", "reason": "because"}


@step
def spend(self: Any, run: RunContext) -> Next:
    """Think, pay 10, and go round again, as long as the budget lasts."""
    run.model(agents.think, {"turn": run.visit}, tokens=30)
    run.effect(agents.pay, order=str(run.visit), amount=Decimal(10), currency="EUR")
    return self.spend


def spender(**limits: Any) -> Run:
    agents.define("Spender", spend, budget=Budget(**{"money": Money(1_000, "EUR"), **limits}))
    return agents.start("Spender")


def stuck(run: Run) -> str:
    """Why the run is stuck: the limit that it has met."""
    assert run.state == RunState.SUSPENDED
    wait = Wait.objects.get(run=run, state="open")
    assert (wait.name, wait.waits_for) == ("budget spent", "operator")
    return str(wait.detail["limit"])


def used(run: Run) -> tuple[int, int, int]:
    budget = Stored.objects.get(pk=run.budget_id)
    return budget.steps_used, budget.tokens_used, budget.purses.get().spent_minor


@pytest.mark.parametrize(
    ("limits", "limit", "turns"),
    [
        ({"steps": 3}, "steps", 3),
        ({"tokens": 65}, "tokens", 4),
        ({"money": Money(35, "EUR")}, "money", 3),
    ],
    ids=["steps", "tokens", "money"],
)
def test_a_limit_stops_the_run_and_no_retry_or_release_passes_it(limits: Any, limit: str, turns: int) -> None:
    run = desk.drive(spender(**limits))
    assert stuck(run) == limit
    assert len(agents.moved) == turns
    before = used(run)
    for _ in range(2):
        steering.retry(run.ref, **BY)
        assert stuck(desk.drive(run)) == limit
        runs.hold(run.ref, **BY)
        runs.release(run.ref, **BY)
        desk.drive(run)
    assert len(agents.moved) == turns
    after = used(run)
    assert after == before


def test_a_fork_does_not_begin_with_a_full_purse() -> None:
    run = desk.drive(spender(money=Money(35, "EUR")))
    runs.cancel(run.ref, **BY)
    desk.drive(run)
    fork = desk.drive(steering.fork(run.ref, 4, **BY))
    assert stuck(fork) == "money"
    assert used(fork)[2] == 3000


def test_the_last_step_of_the_budget_may_be_the_last_of_the_run() -> None:
    agents.define("Exact", agents.Looper.steps["turn"].function, budget=Budget(steps=3))
    run = desk.drive(agents.start("Exact", {"turns": 3, "words": ""}))
    assert (run.state, run.budget.steps_used) == (RunState.COMPLETED, 3)


def test_a_deadline_runs_on_while_people_think() -> None:
    @step
    def rest(self: Any, run: RunContext) -> Next:
        run.sleep(hours(1))
        run.effect(agents.pay, order="1", amount=Decimal(10), currency="EUR")
        return None

    agents.define("Late", rest, budget=Budget(deadline=hours(2), money=Money(100, "EUR")))
    run = desk.drive(agents.start("Late"))
    desk.time_passes(hours=3)
    recovery.sweep()
    assert stuck(desk.drive(run)) == "deadline"
    assert agents.moved == {}
    steering.retry(run.ref, **BY)
    assert stuck(desk.drive(run)) == "deadline"


def test_a_deadline_that_passes_inside_a_step_stops_its_effect() -> None:
    @step
    def slow(self: Any, run: RunContext) -> Next:
        desk.time_passes(hours=2)
        Run.objects.update(lease_until=F("lease_until") + hours(3))  # as the heartbeat would have
        run.effect(agents.pay, order="1", amount=Decimal(10), currency="EUR")
        return None

    agents.define("Slow", slow, budget=Budget(deadline=hours(1), money=Money(100, "EUR")))
    assert stuck(desk.drive(agents.start("Slow"))) == "deadline"
    assert agents.moved == {}


def test_a_crash_loop_does_not_refill_the_budget() -> None:
    run = spender(tokens=1_000)
    for _ in range(3):
        faults.arm("outcome.after_commit", die)
        with pytest.raises(Killed):
            desk.drive(run)
        desk.time_passes(minutes=5)
    assert used(run) == (2, 30, 3000)
    assert len(agents.moved) == 3


def test_a_model_call_that_a_crash_cut_off_is_billed_as_reserved() -> None:
    calls: list[int] = []

    def lost(request: Any) -> tuple[Any, int]:
        calls.append(1)
        if len(calls) == 1:
            raise Killed
        return "answer", 10

    @step
    def think(self: Any, run: RunContext) -> Next:
        run.result = run.model(lost, "q", tokens=50)
        return None

    agents.define("Thinker", think, budget=Budget(tokens=200))
    run = agents.start("Thinker")
    with pytest.raises(Killed):
        desk.drive(run)
    budget = Stored.objects.get(pk=run.budget_id)
    assert (budget.tokens_used, budget.tokens_reserved) == (0, 50)
    desk.time_passes(minutes=5)
    desk.drive(run)
    budget.refresh_from_db()
    assert (run.state, run.result) == (RunState.COMPLETED, "answer")
    assert (budget.tokens_used, budget.tokens_reserved) == (60, 0)


def test_an_answer_that_was_billed_is_not_asked_for_again() -> None:
    run = spender(tokens=1_000)
    faults.arm("intent.after_commit", die)
    with pytest.raises(Killed):
        desk.drive(run)
    desk.time_passes(minutes=5)
    faults.arm("outcome.before_commit", die)
    with pytest.raises(Killed):
        desk.drive(run)
    assert [what for what, _ in agents.asked].count("model") == 1
    assert used(run)[1] == 10


def test_a_run_without_money_moves_none_and_says_which_currency() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        run.effect(agents.pay, order="1", amount=Decimal(10), currency="CHF")
        return None

    agents.define("Poor", act, budget=Budget(money=Money(10, "EUR")))
    run = desk.drive(agents.start("Poor"))
    assert stuck(run) == "money"
    assert "CHF" in run.waits.get().detail["sentence"]


def test_a_run_that_gives_up_keeps_what_it_spent() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        run.effect(agents.pay, order="1", amount=Decimal(10), currency="EUR")
        raise GiveUp("enough")

    agents.define("Quitter", act, budget=Budget(money=Money(100, "EUR")))
    run = desk.drive(desk.drive(agents.start("Quitter")))
    assert run.state == RunState.FAILED
    assert used(run)[2] == 1000


# The last unit


def family(budget: Budget) -> list[Claim]:
    """Eight forks that share what is left, each held by a worker."""
    agents.define("Sharer", agents.Looper.steps["turn"].function, budget=budget)
    parent = agents.start("Sharer", {"turns": 1, "words": ""})
    runs.hold(parent.ref, **BY)
    held = [claims.claim(steering.fork(parent.ref, 1, **BY).ref) for _ in range(8)]
    return [claim for claim in held if claim is not None]


def waiting() -> int:
    """How many sessions of this database wait for a row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # else a transaction sees what it saw at first
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(cursor.fetchone()[0])


def test_of_eight_that_want_the_last_euro_one_gets_it() -> None:
    """All have begun before one of them can take it: whoever looks first and takes then would find it there."""
    held = family(Budget(money=Money(10, "EUR")))
    kept = Event()

    def keep() -> None:
        with transaction.atomic():
            Purse.objects.select_for_update().get()
            kept.set()
            desk.until(lambda: waiting() == 8)

    def want(number: int) -> Any:
        assert kept.wait(5)
        args = {"order": str(number), "amount": "10", "currency": "EUR"}
        claim = held[number]
        run = Run.objects.get(pk=claim.run_id)
        return ledger.record(claim, run, Ask.of(agents.pay, args, Place("turn", 1, 1)))

    got = at_once(keep, *(partial(want, n) for n in range(8)), loses=BudgetExhausted)
    assert sum(isinstance(one, BudgetExhausted) for one in got) == 7
    assert sum(isinstance(one, ledger.Recorded) for one in got) == 1
    purse = Stored.objects.get().purses.get()
    assert (purse.reserved_minor, purse.spent_minor) == (1000, 0)


def test_of_eight_that_want_the_last_tokens_one_gets_them() -> None:
    held = family(Budget(tokens=10))
    want = partial(
        frozen.reserve_model, place=Place("turn", 1, 1), model="think", args_digest="0" * 64, tokens=10
    )
    got = at_once(*(partial(want, one) for one in held), loses=BudgetExhausted)
    assert sum(isinstance(one, BudgetExhausted) for one in got) == 7
    assert Stored.objects.get().tokens_reserved == 10


def test_of_eight_that_want_the_last_step_one_takes_it() -> None:
    agents.define("Sharer", agents.Looper.steps["turn"].function, budget=Budget(steps=1))
    parent = agents.start("Sharer", {"turns": 1, "words": ""})
    runs.hold(parent.ref, **BY)
    forks = [steering.fork(parent.ref, 1, **BY) for _ in range(8)]
    at_once(*(partial(desk.drive, fork) for fork in forks))
    for fork in forks:
        fork.refresh_from_db()
    ended = [fork for fork in forks if fork.state == RunState.COMPLETED]
    assert len(ended) == 1
    assert {stuck(fork) for fork in forks if fork not in ended} == {"steps"}
    assert Stored.objects.get().steps_used == 1
