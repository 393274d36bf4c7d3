"""Steps that fail, hang, give up, or will not let go."""

from __future__ import annotations

import signal
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from durable import clock, journal, recovery, runs, steering
from durable.author import EffectRefused, GiveUp, Next, RunContext, step
from durable.models import Run, Wait
from durable.states import RunState
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)


def pauses(run: Run) -> list[int]:
    """Drive until the run rests; how long it was put off each time, in whole seconds."""
    found = []
    while desk.drive(run).state == RunState.QUEUED:
        assert run.due_at is not None
        found.append(round((run.due_at - run.changed_at).total_seconds()))
        desk.time_passes(minutes=10)
    return found


def test_a_failing_step_is_executed_again_after_longer_and_longer_pauses() -> None:
    @step(retries=4, backoff=timedelta(seconds=2))
    def fail(self: Any, run: RunContext) -> Next:
        raise ValueError("no luck")

    run = agents.run_of(fail)
    assert pauses(run) == [2, 4, 8, 16]
    wait = Wait.objects.get(run=run)
    assert (run.state, wait.name) == (RunState.SUSPENDED, "retries spent")
    assert "step fail failed: ValueError: “no luck” (test_runs_steps.py, line" in wait.detail["sentence"]
    assert list(run.attempts.order_by("number").values_list("how", flat=True)) == ["retrying"] * 4 + [
        "suspended"
    ]


def test_a_retry_by_an_operator_begins_the_count_anew() -> None:
    tries: list[int] = []

    @step(retries=1)
    def fail(self: Any, run: RunContext) -> Next:
        tries.append(1)
        if len(tries) < 4:
            raise ValueError("no luck")
        return None

    run = agents.run_of(fail)
    pauses(run)
    assert len(tries) == 2
    steering.retry(run.ref, actor="olga", reason="the vendor is back")
    pauses(run)
    assert run.state == RunState.COMPLETED
    assert run.error == ""
    assert len(tries) == 4


def test_each_step_has_its_retries_to_itself() -> None:
    failed: list[str] = []

    @step(retries=1)
    def turn(self: Any, run: RunContext) -> Next:
        if len(failed) < run.visit:
            failed.append(f"visit {run.visit}")
            raise ValueError("no luck")
        following: Next = self.turn if run.visit < 2 else None
        return following

    run = agents.run_of(turn)
    pauses(run)
    assert (run.state, failed) == (RunState.COMPLETED, ["visit 1", "visit 2"])


def test_a_failure_and_an_effect_before_it_do_not_repeat_the_effect() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        run.effect(agents.pay, order="1", amount=Decimal(40), currency="EUR")
        if len(agents.asked) < 2:
            agents.asked.append(("failed", 1))
            raise ValueError("after the effect")
        return None

    run = agents.run_of(act)
    pauses(run)
    assert run.state == RunState.COMPLETED
    assert [one for one, _ in agents.asked] == [f"{run.ref}:act", "failed"]


def test_a_hanging_step_is_interrupted() -> None:
    @step(retries=1, timeout=timedelta(seconds=0.2))
    def hang(self: Any, run: RunContext) -> Next:
        desk.until(lambda: False)
        return None

    run = agents.run_of(hang)
    pauses(run)
    assert "StepTimeout: “step hang ran past its limit" in Wait.objects.get(run=run).detail["sentence"]


def test_a_step_that_swallows_its_alarm_hears_it_again() -> None:
    heard: list[str] = []

    @step(retries=0, timeout=timedelta(seconds=0.1))
    def deaf(self: Any, run: RunContext) -> Next:
        while len(heard) < 2:
            try:
                desk.until(lambda: False)
            except Exception as error:
                heard.append(type(error).__name__)
        desk.until(lambda: False)
        return None

    run = agents.run_of(deaf)
    desk.drive(run)
    assert heard == ["StepTimeout", "StepTimeout"]
    assert Wait.objects.get(run=run).name == "retries spent"


def test_a_step_cut_off_in_a_query_of_its_own_leaves_no_half_used_connection() -> None:
    @step(retries=1, timeout=timedelta(seconds=0.2))
    def query(self: Any, run: RunContext) -> Next:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(5)")
        return None

    run = agents.run_of(query)
    assert pauses(run) == [1]
    assert Wait.objects.get(run=run).name == "retries spent"
    with connection.cursor() as cursor:  # the server would sleep on, into a test that watches its sessions
        ours = "FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(5)' AND datname = current_database()"
        cursor.execute(f"SELECT count(pg_terminate_backend(pid, 5000)) {ours}")
        cursor.execute(f"SELECT count(*) {ours} AND state = 'active'")
        assert cursor.fetchone() == (0,)


def test_no_alarm_comes_between_the_vendor_and_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is written down first; the step is executed again, and answered from the record."""

    @step(retries=2, timeout=timedelta(minutes=1))
    def act(self: Any, run: RunContext) -> Next:
        run.effect(agents.pay, order="1", amount=Decimal(40), currency="EUR")
        return None

    def slow(call: Any) -> None:
        now = clock.elapsed
        monkeypatch.setattr(clock, "elapsed", lambda: now() + 61)  # a minute goes by: the alarm rings
        signal.raise_signal(signal.SIGALRM)

    agents.meanwhile.append(slow)
    run = agents.run_of(act)
    assert (pauses(run), run.state) == ([1], RunState.COMPLETED)
    kinds = [event.kind for event in journal.events(run.ref)]
    assert kinds == ["started", "intent", "sent", "applied", "resumed", "completed"]


def test_a_suspension_that_a_step_swallows_suspends_all_the_same() -> None:
    went: list[str] = []

    @step
    def greedy(self: Any, run: RunContext) -> Next:
        try:
            run.effect(agents.write_letter, to="ada")
        except BaseException:
            went.append("swallowed")
        try:
            run.say("agent", "still here")
        except BaseException:
            went.append("refused")
        return None

    run = desk.drive(agents.run_of(greedy))
    assert run.state == RunState.SUSPENDED
    assert went == ["swallowed", "refused"]
    assert [wait.kind for wait in run.waits.all()] == ["gate"]


def test_giving_up_fails_the_run_with_the_agents_own_words() -> None:
    @step
    def give(self: Any, run: RunContext) -> Next:
        raise GiveUp("the order was cancelled")

    run = desk.drive(agents.run_of(give))
    assert run.state == RunState.FAILING
    desk.drive(run)
    assert (run.state, run.error) == ("failed", "step give gave up: “the order was cancelled”")
    assert [event.kind for event in journal.events(run.ref)][-1] == "run failed"


def test_giving_up_withdraws_what_was_never_sent() -> None:
    @step
    def ask(self: Any, run: RunContext) -> Next:
        run.effect(agents.write_letter, to="ada")
        return None

    run = desk.drive(agents.run_of(ask))

    @step
    def ask_no_more(self: Any, run: RunContext) -> Next:
        raise GiveUp("never mind")

    agents.define("Tried", step(was=("ask",))(ask_no_more))
    runs.hold(run.ref, actor="olga", reason="wait")
    runs.release(run.ref, actor="olga", reason="go on")
    desk.drive(run)
    desk.drive(run)
    assert run.state == RunState.FAILED
    assert list(desk.effects(run).values()) == ["withdrawn"]
    assert not run.waits.filter(state="open").exists()


def test_what_a_failed_run_gave_up_can_be_tried_again() -> None:
    hopeless = [True]

    @step
    def give(self: Any, run: RunContext) -> Next:
        if hopeless:
            raise GiveUp("no stock")
        return None

    run = desk.drive(desk.drive(agents.run_of(give)))
    assert run.state == RunState.FAILED
    hopeless.clear()
    steering.retry(run.ref, actor="olga", reason="stock has come")
    assert desk.drive(run).state == RunState.COMPLETED


@pytest.mark.parametrize(
    "what", [{1: object()}, {"x": float("nan")}, {"x": "\ud800"}], ids=["object", "NaN", "half"]
)
def test_a_state_that_can_not_be_stored_fails_the_step_and_names_the_place(what: Any) -> None:
    @step(retries=0)
    def soil(self: Any, run: RunContext) -> Next:
        run.state["found"] = what
        return None

    run = desk.drive(agents.run_of(soil))
    assert run.state == RunState.SUSPENDED
    assert "Invalid: “state.found" in Wait.objects.get(run=run).detail["sentence"]


def test_half_an_emoji_from_outside_is_stored_with_a_mark_and_loses_nothing() -> None:
    def broken(request: Any) -> tuple[Any, int]:
        return {"text": "fine \ud83d", "nul": "a\x00b"}, 1

    @step
    def ask(self: Any, run: RunContext) -> Next:
        run.result = run.model(broken, "hello", tokens=5)
        return None

    run = desk.drive(agents.run_of(ask))
    assert run.result == {"text": "fine \ufffd", "nul": "a\ufffdb"}


def test_an_error_with_odd_text_in_it_can_be_told() -> None:
    @step(retries=0)
    def fail(self: Any, run: RunContext) -> Next:
        raise ValueError("half \ud83d and \x00 and " + "\N{PILE OF POO}" * 2_000)

    run = desk.drive(agents.run_of(fail))
    sentence = Wait.objects.get(run=run).detail["sentence"]
    assert "half \ufffd and \ufffd" in sentence
    assert len(sentence) < 1_100


def test_a_refusal_reaches_the_step_and_may_be_caught() -> None:
    @step
    def ask(self: Any, run: RunContext) -> Next:
        try:
            run.effect(agents.write_letter, to="ada")
        except EffectRefused as refusal:
            run.result = refusal.state
        return None

    run = desk.drive(agents.run_of(ask, budget=agents.Budget()))
    desk.time_passes(days=10)
    recovery.sweep()
    desk.drive(run)
    assert (run.state, run.result) == (RunState.COMPLETED, "expired")


def test_a_step_that_did_not_ask_again_stops_at_a_person() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        if not agents.asked:
            run.effect(agents.pay, order="1", amount=Decimal(40), currency="EUR")
            raise ValueError("after the effect")
        return None

    run = agents.run_of(act)
    pauses(run)
    assert "without asking again" in Wait.objects.get(run=run).detail["sentence"]
