"""Forks: a run from a kept checkpoint, that sees its parent's whole ledger and draws on its parent's budget."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction

from durable import checkpoints, journal, retention, runner, runs, steering
from durable.author import Budget, GiveUp, Money, Next, RunContext, hours, step
from durable.context import wish
from durable.errors import Conflict, NotFound
from durable.models import Checkpoint, Effect, Purse, Run
from durable.states import RunState
from tests.engine import agents, desk, people

pytestmark = pytest.mark.django_db(transaction=True)
BY: dict[str, Any] = {"actor": "olga", "reason": "because"}


def walked() -> Run:
    """A run that has read, thought, paid and told: its checkpoints are 1 start, 2 look, 3 act, 4 end."""
    run = desk.drive(agents.start("Walker"))
    assert run.state == RunState.COMPLETED
    return run


def forked(run: Run, version: int) -> Run:
    return steering.fork(run.ref, version, **BY)


def test_a_fork_takes_its_parents_receipt_and_repeats_nothing() -> None:
    parent = walked()
    fork = desk.drive(forked(parent, 2))
    assert fork.state == RunState.COMPLETED
    assert fork.result["receipt"] == parent.result["receipt"]
    assert len(agents.moved) == 1
    assert not Effect.objects.filter(run=fork).exists()


def test_a_fork_that_acts_otherwise_at_its_parents_place_is_gated() -> None:
    parent = walked()

    @step
    def act(self: Any, run: RunContext) -> Next:
        run.effect(agents.pay, order="1", amount=Decimal(39), currency="EUR")
        return None

    agents.define("Walker", act, budget=agents.Walker.budget)
    fork = desk.drive(forked(parent, 2))
    assert desk.effects(fork) == {"act": "gated"}
    assert len(agents.moved) == 1


def test_a_fork_has_its_parents_conversation_up_to_its_base_and_none_of_what_came_later() -> None:
    parent = walked()
    early, late = forked(parent, 2), forked(parent, 3)
    desk.drive(early)
    assert early.result["said"] == ["Where is my money?", "On its way."]
    desk.drive(late)
    assert late.result["said"] == ["Where is my money?", "On its way."]
    assert (early.branch.base_count, late.branch.base_count) == (1, 2)
    assert early.branch.messages.count() == 1
    assert late.branch.messages.count() == 0
    assert parent.branch.messages.count() == 2


def test_a_fork_of_a_fork_has_everything_before_it() -> None:
    parent = walked()
    fork = desk.drive(forked(parent, 2))
    grandchild = desk.drive(forked(fork, Checkpoint.objects.get(run=fork, step="act").version))
    assert grandchild.result["said"] == ["Where is my money?", "On its way."]
    again = desk.drive(forked(fork, 1))
    assert again.result["receipt"] == parent.result["receipt"]
    assert len(agents.moved) == 1


def test_a_fork_starts_with_its_bases_state_progress_and_visits() -> None:
    parent = desk.drive(agents.start("Looper", {"turns": 5}))
    fork = forked(parent, 3)
    assert (fork.step, fork.visit, fork.state) == ("turn", 3, RunState.QUEUED)
    desk.drive(fork)
    assert Checkpoint.objects.filter(run=fork).latest("version").progress == {"turn": 5}


def test_a_fork_draws_on_what_is_left_of_its_parents_budget() -> None:
    parent = walked()
    fork = forked(parent, 2)
    assert fork.budget_id == parent.budget_id
    desk.drive(fork)
    parent.budget.refresh_from_db()
    assert parent.budget.steps_used == 5
    assert parent.budget.purses.get().spent_minor == 4000


def test_a_run_is_forked_at_rest_alone() -> None:
    with pytest.raises(Conflict, match="hold it or let it end"):
        forked(agents.start("Looper"), 1)
    run = agents.start("Looper")
    runs.hold(run.ref, **BY)
    assert desk.drive(forked(run, 1)).state == RunState.COMPLETED
    run.refresh_from_db()
    assert run.held


def test_a_run_with_something_unsettled_is_not_forked() -> None:
    run = walked()
    Effect.objects.filter(run=run).update(state="in doubt")
    with pytest.raises(Conflict, match="settle it before forking"):
        forked(run, 2)


def test_a_checkpoint_that_is_not_there_or_is_the_end_is_no_base() -> None:
    run = walked()
    with pytest.raises(NotFound, match=r"keeps no checkpoint 99; it keeps 1, 2, 3, 4$"):
        forked(run, 99)
    with pytest.raises(Conflict, match="is its end"):
        forked(run, 4)
    assert Run.objects.count() == 1


def test_both_runs_say_that_one_is_the_others_fork() -> None:
    parent = walked()
    fork = forked(parent, 2)
    said = journal.events(parent.ref)[-1]
    assert (said.kind, said.actor) == ("forked", "olga")
    assert fork.ref in said.body
    assert parent.ref in journal.events(fork.ref)[0].body


def test_what_a_fork_began_from_is_kept_by_pruning() -> None:
    parent = desk.drive(agents.start("Looper", {"turns": 10}))
    fork = forked(parent, 4)
    desk.time_passes(days=30)
    retention.prune()
    kept = list(Checkpoint.objects.filter(run=parent).order_by("version").values_list("version", flat=True))
    assert kept == [4, 11]
    assert desk.drive(forked(parent, 4)).state == desk.drive(fork).state == RunState.COMPLETED


def test_a_run_does_not_go_on_beside_its_fork() -> None:
    parent = agents.start("Walker")
    runs.hold(parent.ref, **BY)
    child = forked(parent, 1)
    with pytest.raises(Conflict, match=f"{child.ref} was forked from {parent.ref} and goes on in its place"):
        runs.release(parent.ref, **BY)
    runs.cancel(child.ref, **BY)
    assert desk.drive(child).state == RunState.CANCELLED

    runs.release(parent.ref, **BY)
    assert desk.drive(parent).state == RunState.COMPLETED
    assert len(agents.moved) == 1


def test_a_failed_run_is_not_tried_again_beside_its_fork() -> None:
    @step
    def despair(self: Any, run: RunContext) -> Next:
        raise GiveUp("it is of no use")

    parent = desk.drive(desk.drive(agents.run_of(despair)))
    assert parent.state == RunState.FAILED
    child = forked(parent, 1)
    with pytest.raises(Conflict, match=child.ref):
        steering.retry(parent.ref, **BY)
    assert desk.drive(parent).state == RunState.FAILED


# Several of one line


@step
def choose(self: Any, run: RunContext) -> Next:
    """Go where the state says, by default to `act`."""
    return getattr(self, run.state.get("to", "act"))


@step
def act(self: Any, run: RunContext) -> Next:
    """Pay 60."""
    run.effect(agents.pay, order="1", amount=Decimal(60), currency="EUR")
    return None


@step
def pay_otherwise(self: Any, run: RunContext) -> Next:
    """Pay 60 at another place."""
    run.effect(agents.pay, order="1", amount=Decimal(60), currency="EUR")
    return None


def chooser() -> Run:
    """A run that is held before its first step."""
    parent = agents.run_of(choose, act, pay_otherwise, budget=Budget(money=Money(500, "EUR")))
    runs.hold(parent.ref, **BY)
    return parent


def test_of_two_forks_of_one_parent_the_second_is_gated_where_the_first_has_acted() -> None:
    parent = chooser()
    first, second = forked(parent, 1), forked(parent, 1)
    assert desk.drive(first).state == RunState.COMPLETED
    assert desk.effects(desk.drive(second)) == {"act": "gated"}
    [gate] = people.gates(second)
    assert f"{first.ref}, a fork of the same line, has asked at this place already" in gate.reason
    assert len(agents.moved) == 1
    people.say(second)
    assert desk.drive(second).state == RunState.COMPLETED


def test_a_parent_that_goes_on_after_its_fork_was_cancelled_is_gated_where_the_fork_has_acted() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        run.effect(agents.jot, text="1")
        run.sleep(hours(1))
        return None

    parent = agents.run_of(act)
    runs.hold(parent.ref, **BY)
    fork = desk.drive(forked(parent, 1))
    runs.cancel(fork.ref, **BY)
    assert (desk.drive(fork).state, desk.effects(fork)) == (RunState.CANCELLED, {"act": "applied"})
    runs.release(parent.ref, **BY)
    assert desk.effects(desk.drive(parent)) == {"act": "gated"}


def test_a_fork_that_asked_first_is_not_held_up_by_one_that_asks_after_it() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        run.effects(wish(agents.jot, text="1"), wish(agents.write_letter, to="ada"))
        return None

    parent = agents.run_of(act)
    runs.hold(parent.ref, **BY)
    first, second = forked(parent, 1), forked(parent, 1)
    assert desk.effects(desk.drive(first)) == {"act": "applied", "act#2": "gated"}
    assert desk.effects(desk.drive(second)) == {"act": "gated", "act#2": "gated"}
    people.say(first)
    assert desk.drive(first).state == RunState.COMPLETED


def test_forks_that_pay_at_the_same_moment_do_not_pass_the_threshold_side_by_side() -> None:
    """The purse is locked, so that the first stands still before its intent, and the second comes to meet it."""
    parent = chooser()
    two = [forked(parent, 1), steering.fork(parent.ref, 1, state={"to": "pay_otherwise"}, **BY)]
    drivers = [threading.Thread(target=_driven, args=[fork.ref]) for fork in two]
    with transaction.atomic():
        Purse.objects.select_for_update().get(budget=parent.budget_id)
        for before, driver in enumerate(drivers):
            until_waiting(before)
            driver.start()
        until_waiting(2)
    for driver in drivers:
        driver.join()
    assert sorted(state for fork in two for state in desk.effects(fork).values()) == ["applied", "gated"]
    assert len(agents.moved) == 1


def _driven(run_ref: str) -> None:
    runner.drive(run_ref)
    connection.close()


def until_waiting(many: int) -> None:
    """Until so many sessions stand before a lock."""
    desk.until(lambda: waiting() >= many)


def waiting() -> int:
    """How many sessions stand before a lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # a transaction sees what it saw first
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(cursor.fetchone()[0])


def test_of_many_checkpoints_the_oldest_and_the_newest_are_named() -> None:
    run = walked()
    only = Checkpoint.objects.get(run=run, version=1)
    for version in range(5, 11):
        only.pk, only.version = None, version
        only.save()
    assert checkpoints.kept(run) == "1, 2, 3, …, 8, 9, 10"
    Checkpoint.objects.filter(run=run).delete()
    assert checkpoints.kept(run) == "none"
