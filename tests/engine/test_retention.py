"""Pruning: what an ended run no longer needs goes, and nothing that anything still stands on."""

from __future__ import annotations

from typing import Any

import pytest

from durable import checkpoints, journal, recovery, retention
from durable.author import Next, RunContext, days, step
from durable.models import Checkpoint, Effect, Frozen, LedgerEvent, Message, Run
from durable.retention import survey, terms
from durable.states import RunState
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)


def versions(run: Run) -> list[int]:
    return list(Checkpoint.objects.filter(run=run).order_by("version").values_list("version", flat=True))


def test_an_ended_run_keeps_its_final_state_its_conversation_and_its_ledger() -> None:
    run = desk.drive(agents.start("Walker"))
    before = [
        LedgerEvent.objects.filter(run_ref=run.ref).count(),
        Effect.objects.count(),
        Message.objects.count(),
    ]
    state = checkpoints.load(run).state
    desk.time_passes(days=30)
    pruned = retention.prune(actor="ada", reason="tidy")
    assert (pruned.runs, pruned.checkpoints, pruned.frozen) == (1, 2, 2)
    assert versions(run) == [3, 4]
    assert checkpoints.load(run).state == state
    assert not Frozen.objects.exists()
    after = [
        LedgerEvent.objects.filter(run_ref=run.ref).count(),
        Effect.objects.count(),
        Message.objects.count(),
    ]
    assert after == [before[0] + 1, before[1], before[2]]
    assert journal.events(run.ref)[-1].actor == "ada"


def test_the_row_that_holds_the_final_state_is_kept_however_old() -> None:
    @step
    def begin(self: Any, run: RunContext) -> Next:
        run.state["catalogue"] = "x" * 1_000
        return self.turn

    @step
    def turn(self: Any, run: RunContext) -> Next:
        return self.turn if run.visit < 10 else None

    agents.define("Steady", begin, turn)
    run = desk.drive(agents.start("Steady"))
    desk.time_passes(days=30)
    retention.prune()
    assert versions(run) == [2, 12]
    assert checkpoints.load(run).state == {"catalogue": "x" * 1_000}


def test_a_dry_run_says_what_would_go_and_changes_nothing() -> None:
    run = desk.drive(agents.start("Looper", {"turns": 10}))
    desk.time_passes(days=30)
    would = survey.look(terms.terms(terms.policy())).plain()
    assert versions(run) == list(range(1, 12))
    assert LedgerEvent.objects.filter(kind="pruned").count() == 0
    went = retention.prune()
    assert {"checkpoints": went.checkpoints, "frozen": went.frozen} == would


def test_what_was_pruned_is_not_pruned_again() -> None:
    run = desk.drive(agents.start("Looper", {"turns": 10}))
    desk.time_passes(days=30)
    retention.prune()
    assert retention.prune() == retention.Pruned()
    assert LedgerEvent.objects.filter(run_ref=run.ref, kind="pruned").count() == 1


def test_a_run_of_which_everything_is_kept_takes_no_place_in_a_batch() -> None:
    """Its old rows hold its final state: it would come up in every batch, and write an event each time."""

    @step
    def still(self: Any, run: RunContext) -> Next:
        return None

    agents.define("Still", still)
    quiet = desk.drive(agents.start("Still"))
    busy = desk.drive(agents.start("Looper", {"turns": 5}))
    desk.time_passes(days=30)
    assert retention.prune(batch=1).checkpoints == 5
    assert versions(busy) == [6]
    assert LedgerEvent.objects.filter(run_ref=quiet.ref, kind="pruned").count() == 0


def test_live_work_is_untouched_however_old_and_goes_on_exactly() -> None:
    @step
    def begin(self: Any, run: RunContext) -> Next:
        run.state["begun"] = True
        return self.rest

    @step
    def rest(self: Any, run: RunContext) -> Next:
        run.state["price"] = run.call(agents.read_price, sku="MUG")["price"]
        run.sleep(days(60))
        run.result = dict(run.state)
        return None

    agents.define("Rester", begin, rest)
    run = desk.drive(agents.start("Rester"))
    queued = agents.start("Looper")
    before = versions(run)
    desk.time_passes(days=90)
    assert retention.prune() == retention.Pruned()
    assert versions(run) == before
    recovery.sweep()
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert run.result["begun"] is True
    assert versions(queued) == [1]


def test_a_young_ended_run_is_left_alone() -> None:
    run = desk.drive(agents.start("Looper", {"turns": 5}))
    desk.time_passes(days=6)
    assert retention.prune() == retention.Pruned()
    assert len(versions(run)) == 6
