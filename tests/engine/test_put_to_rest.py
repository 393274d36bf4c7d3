"""What the engine itself stumbles over comes to rest before a person, and what people are told outlives every act."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction

from durable import claims, endings, faults, journal, recovery, runner, runs, steering, waits
from durable.author import Budget, Money, Next, RunContext, hours, step
from durable.ledger import outcome
from durable.models import Attempt, Checkpoint, Effect, Run, Wait
from durable.states import Attention, RunState, WaitKind
from durable.transitions import lock_run
from durable.vendor import Receipt
from tests.engine import agents, desk
from tests.engine.held import check_tokens
from tests.engine.resting import napping, rest
from tests.engine.scenes import Killed

pytestmark = pytest.mark.django_db(transaction=True)
BY: dict[str, Any] = {"actor": "olga", "reason": "because"}


@pytest.fixture(autouse=True)
def _world() -> Iterator[None]:
    with agents.world():
        yield
        check_tokens()


@step
def pay(self: Any, run: RunContext) -> Next:
    """Pay, then sleep."""
    run.effect(agents.pay, order="1", amount=Decimal(40), currency="EUR")
    run.sleep(hours(1))
    return self.rest


def why(run: Run) -> tuple[str, str]:
    """Reason and sentence of what a person must look at."""
    (wait,) = waits.open_waits(run, WaitKind.ATTENTION)
    assert wait.waits_for == "operator"
    return wait.name, wait.detail["sentence"]


# An error that nobody expected.


def test_a_run_that_can_not_be_driven_is_put_before_a_person_and_goes_on_once_that_is_mended() -> None:
    run = agents.start("Looper", {"turns": 2})
    (first,) = Checkpoint.objects.filter(run=run)
    Checkpoint.objects.filter(run=run).delete()
    desk.drive(run)
    reason, sentence = why(run)
    assert (run.state, reason) == (RunState.SUSPENDED, Attention.CRASH_LOOP)
    assert "DoesNotExist" in sentence and "retry it" in sentence
    assert Attempt.objects.get(run=run).how == "suspended"
    desk.time_passes(hours=1)
    assert not runner.drive(run.ref), "what waits for a person is claimed by nobody"
    first.save(force_insert=True)
    steering.retry(run.ref, **BY)
    assert desk.drive(run).state == RunState.COMPLETED


def test_what_an_unexpected_error_says_is_not_repeated_to_anybody(caplog: pytest.LogCaptureFixture) -> None:

    def trip() -> None:
        raise RuntimeError("the customer's account is DE89 3704")

    faults.arm("suspend.before_commit", trip)
    run = napping()
    reason, sentence = why(run)
    told = [sentence, caplog.text, *(event.body for event in journal.events(run.ref))]
    assert reason == Attention.CRASH_LOOP and "RuntimeError" in sentence
    assert not any("3704" in text for text in told)


def test_an_ending_run_that_can_not_be_driven_waits_for_a_person_and_then_ends() -> None:
    run = napping()
    runs.cancel(run.ref, **BY)

    def trip() -> None:
        raise RuntimeError("no")

    faults.arm("end.before_commit", trip)
    desk.drive(run)
    assert (run.state, why(run)[0]) == (RunState.CANCELLING, Attention.CRASH_LOOP)
    desk.time_passes(hours=1)
    assert not runner.drive(run.ref)
    steering.retry(run.ref, **BY)
    assert desk.drive(run).state == RunState.CANCELLED


def test_a_run_whose_way_to_its_end_kills_workers_is_put_before_a_person() -> None:
    run = napping()
    runs.cancel(run.ref, **BY)
    for _ in range(endings.MOST_CRASHES + 1):
        assert claims.claim(run.ref) is not None
        desk.time_passes(minutes=5)
    desk.drive(run)
    reason, sentence = why(run)
    assert (run.state, reason) == (RunState.CANCELLING, Attention.CRASH_LOOP)
    assert f"{endings.MOST_CRASHES + 1} workers" in sentence
    desk.time_passes(hours=1)
    assert not runner.drive(run.ref)
    steering.retry(run.ref, **BY)
    assert desk.drive(run).state == RunState.CANCELLED


def test_as_many_lost_workers_as_are_allowed_do_not_stop_a_run_from_ending() -> None:
    run = napping()
    runs.cancel(run.ref, **BY)
    for _ in range(endings.MOST_CRASHES):
        assert claims.claim(run.ref) is not None
        desk.time_passes(minutes=5)
    assert desk.drive(run).state == RunState.CANCELLED


# What a skip leaves open.


def alarmed() -> tuple[Run, Wait]:
    """A run at rest, one of whose effects has got a second receipt."""
    agents.define("Payer2", pay, rest, budget=Budget(money=Money(100, "EUR")))
    run = desk.drive(agents.start("Payer2"))
    effect = Effect.objects.get(run=run)
    outcome.late(run.ref, effect.key, "w9", Receipt("re_second", amount=Decimal(40), currency="EUR"), "")
    (alarm,) = waits.open_waits(run, WaitKind.ATTENTION)
    return run, alarm


def test_a_skip_leaves_alarms_open() -> None:
    run, alarm = alarmed()
    steering.skip(run.ref, **BY)
    assert [wait.pk for wait in waits.open_waits(run)] == [alarm.pk]
    assert desk.drive(run).state == RunState.COMPLETED
    assert [wait.pk for wait in waits.open_waits(run)] == [alarm.pk]


def test_a_skip_leaves_a_hold_in_place_and_closes_what_the_step_waited_for() -> None:
    run, alarm = alarmed()
    runs.hold(run.ref, **BY)
    steering.skip(run.ref, **BY)
    assert {wait.kind for wait in waits.open_waits(run)} == {"hold", "attention"}
    assert desk.drive(run).state == RunState.SUSPENDED
    assert alarm.pk in {wait.pk for wait in waits.open_waits(run)}


def test_a_skip_answers_what_a_person_was_asked_about_the_step_itself() -> None:
    @step(retries=0)
    def fail(self: Any, run: RunContext) -> Next:
        raise ValueError("no")

    run = desk.drive(agents.run_of(fail, rest))
    assert why(run)[0] == Attention.RETRIES
    steering.skip(run.ref, **BY)
    assert waits.open_waits(run) == []
    assert desk.drive(run).state == RunState.COMPLETED


def test_an_alarm_keeps_no_run_from_going_on() -> None:
    run, _ = alarmed()
    with transaction.atomic():
        (timer,) = waits.open_waits(lock_run(run.ref), WaitKind.TIMER)
        waits.resolve(lock_run(run.ref), timer, by="clock")
    assert desk.drive(run).state == RunState.COMPLETED


def test_a_run_at_rest_with_nothing_but_an_alarm_open_is_found_by_the_sweeper() -> None:
    run, alarm = alarmed()
    Wait.objects.filter(run=run).exclude(pk=alarm.pk).update(state="resolved")
    assert recovery.sweep()["lonely"] == 1
    assert desk.drive(run).state == RunState.COMPLETED
    assert [wait.pk for wait in waits.open_waits(run)] == [alarm.pk]


# A model call that a crash has cut off.


def cut_off(request: Any) -> tuple[Any, int]:
    """The worker dies while the model thinks; the vendor may bill it all the same."""
    raise Killed


def test_a_cut_off_model_call_is_billed_once_where_the_step_reads_something_else_there() -> None:
    first: list[int] = []

    @step
    def look(self: Any, run: RunContext) -> Next:
        if not first:
            first.append(1)
            run.model(cut_off, "q", tokens=50)
        for _ in range(2):
            run.call(agents.read_price, sku="MUG")
        run.call(agents.read_price, sku="CUP")
        return None

    agents.define("Looker", look, budget=Budget(tokens=200))
    run = agents.start("Looker")
    with pytest.raises(Killed):
        desk.drive(run)
    assert tokens(run) == (0, 50)
    desk.time_passes(minutes=5)
    assert desk.drive(run).state == RunState.COMPLETED
    assert tokens(run) == (50, 0)


def tokens(run: Run) -> tuple[int, int]:
    run.budget.refresh_from_db()
    return run.budget.tokens_used, run.budget.tokens_reserved
