"""Cancel, retry, skip and edit: what an operator may do to a run, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from durable import checkpoints, journal, runs, steering, waits
from durable.author import Next, RunContext, hours, step
from durable.errors import Conflict, Invalid, NotFound
from durable.models import Checkpoint, Effect, EventDetail, Run, Wait
from durable.states import RunState
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)
BY: dict[str, Any] = {"actor": "olga", "reason": "because"}


@step(retries=0)
def work(self: Any, run: RunContext) -> Next:
    """Fails unless its state says that it is ready."""
    agents.asked.append(("work", run.visit))
    if not run.state.get("ready"):
        raise ValueError("not ready")
    return self.done


@step
def done(self: Any, run: RunContext) -> Next:
    """The end."""
    run.result = dict(run.state)
    return None


@step
def write(self: Any, run: RunContext) -> Next:
    """Asks people first."""
    run.effect(agents.write_letter, to="ada")
    return self.done


def stuck() -> Run:
    agents.define("Working", work, done)
    run = desk.drive(agents.start("Working"))
    assert run.state == RunState.SUSPENDED
    return run


def gated() -> Run:
    agents.define("Writing", write, done)
    return desk.drive(agents.start("Writing"))


def refused(
    act: Callable[..., Any], *args: Any, kind: type[Exception] = Conflict, match: str | None = None
) -> None:
    """The act is refused, and nothing has changed."""
    before = [list(model.objects.order_by("pk").values()) for model in (Run, Wait, Effect, Checkpoint)]
    with pytest.raises(kind, match=match):
        act(*args, **BY)
    assert [
        list(model.objects.order_by("pk").values()) for model in (Run, Wait, Effect, Checkpoint)
    ] == before


def test_every_command_names_its_actor_and_reason_in_the_ledger() -> None:
    run = stuck()
    steering.edit_state(run.ref, {"ready": True}, **BY)
    steering.retry(run.ref, **BY)
    desk.drive(run)
    events = [event for event in journal.events(run.ref) if event.kind in ("state edited", "retried")]
    assert [event.actor for event in events] == ["olga", "olga"]
    assert EventDetail.objects.filter(event__in=events).count() == 2


@pytest.mark.parametrize("act", [runs.hold, runs.cancel, steering.retry, steering.skip])
@pytest.mark.parametrize(
    ("actor", "reason", "field"),
    [("", "x", "actor"), ("olga", " ", "reason"), ("olga", "x" * 2_001, "reason"), ("a\x00", "x", "actor")],
)
def test_a_command_without_a_name_or_reason_is_refused(act: Any, actor: str, reason: str, field: str) -> None:
    run = stuck()
    with pytest.raises(Invalid) as error:
        act(run.ref, actor=actor, reason=reason)
    assert error.value.field == field


# Cancel


def test_a_cancel_ends_a_suspended_run_and_withdraws_its_gate() -> None:
    run = gated()
    runs.cancel(run.ref, **BY)
    desk.drive(run)
    assert run.state == RunState.CANCELLED
    assert list(desk.effects(run).values()) == ["withdrawn"]
    assert list(run.waits.values_list("state", flat=True)) == ["withdrawn"]


def test_a_cancel_with_undo_goes_on_to_undo_what_was_applied() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        run.effect(agents.pay, order="1", amount=Decimal(40), currency="EUR")
        run.sleep(hours(1))
        return None

    agents.define("Acting", act, budget=agents.Walker.budget)
    run = desk.drive(agents.start("Acting"))
    runs.cancel(run.ref, undo=True, **BY)
    desk.drive(desk.drive(run))
    assert run.state == RunState.PARTLY_COMPENSATED
    listed = [event.effect_key for event in journal.events(run.ref) if event.kind == "not undoable"]
    assert listed == [f"{run.ref}:act"]


def test_a_compensation_is_for_runs_that_have_ended_and_comes_once() -> None:
    refused(runs.compensate, agents.start("Looper").ref, match="cancel it first")
    run = desk.drive(agents.start("Looper"))
    refused(runs.cancel, run.ref, match="completed already")
    runs.compensate(run.ref, **BY)
    assert desk.drive(run).state == RunState.COMPENSATED
    refused(runs.compensate, run.ref, match="compensated")


def test_a_cancelled_run_records_no_new_intent() -> None:
    @step
    def act(self: Any, run: RunContext) -> Next:
        runs.cancel(run.ref, **BY)
        run.effect(agents.pay, order="1", amount=Decimal(1), currency="EUR")
        return None

    agents.define("Late", act, budget=agents.Walker.budget)
    run = desk.drive(agents.start("Late"))
    assert run.state == RunState.CANCELLED
    assert not Effect.objects.exists()
    assert agents.moved == {}


def test_a_held_run_can_be_cancelled() -> None:
    run = gated()
    runs.hold(run.ref, **BY)
    runs.cancel(run.ref, **BY)
    assert desk.drive(run).state == RunState.CANCELLED
    assert run.held is False


def test_a_second_cancel_is_told() -> None:
    run = gated()
    runs.cancel(run.ref, **BY)
    refused(runs.cancel, run.ref, match="cancelling already")


# Retry


def test_a_retry_is_for_runs_that_are_stuck_or_failed_alone() -> None:
    refused(steering.retry, gated().ref, match="not stuck")
    refused(steering.retry, agents.start("Looper").ref, match="not stuck")
    refused(steering.retry, desk.drive(agents.start("Looper")).ref, match="not stuck")
    refused(steering.retry, "run-none", kind=NotFound)


def test_a_second_retry_is_told() -> None:
    run = stuck()
    steering.retry(run.ref, **BY)
    refused(steering.retry, run.ref, match="not stuck")


def test_a_retry_does_not_repeat_an_effect() -> None:
    @step(retries=0)
    def act(self: Any, run: RunContext) -> Next:
        run.effect(agents.pay, order="1", amount=Decimal(40), currency="EUR")
        if not run.state.get("ready"):
            raise ValueError
        return None

    agents.define("Acting", act, budget=agents.Walker.budget)
    run = desk.drive(agents.start("Acting"))
    steering.edit_state(run.ref, {"ready": True}, **BY)
    steering.retry(run.ref, **BY)
    assert desk.drive(run).state == RunState.COMPLETED
    assert len(agents.asked) == 1


# Skip


def test_a_skip_leaves_the_step_undone_and_goes_on_at_the_next() -> None:
    run = stuck()
    steering.skip(run.ref, **BY)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert agents.asked == [("work", 1)]
    assert Checkpoint.objects.get(run=run, kind="skip").progress == {"work": 1}


def test_a_skip_back_visits_the_step_anew() -> None:
    run = stuck()
    steering.skip(run.ref, to="work", **BY)
    desk.drive(run)
    assert agents.asked == [("work", 1), ("work", 2)]


def test_a_skip_withdraws_what_people_were_asked_about() -> None:
    run = gated()
    steering.skip(run.ref, **BY)
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert list(desk.effects(run).values()) == ["withdrawn"]
    assert agents.asked == []


def test_a_skip_is_refused_where_it_can_not_be() -> None:
    refused(steering.skip, agents.start("Looper").ref, match="hold it first")
    run = stuck()
    with pytest.raises(Invalid, match="no step 'nowhere'; it has work, done"):
        steering.skip(run.ref, to="nowhere", **BY)
    agents.define("Working", work)
    refused(steering.skip, run.ref, match="last step of Working")


def test_a_step_whose_effect_may_have_landed_can_not_be_skipped() -> None:
    run = gated()
    Effect.objects.filter(run=run).update(
        state="in doubt", sends=1, open_sends=1, first_sent_at=run.created_at
    )
    refused(steering.skip, run.ref, match="settled first")
    refused(steering.edit_state, run.ref, {}, match="settled first")


def test_a_held_run_that_is_skipped_stays_held() -> None:
    run = stuck()
    runs.hold(run.ref, **BY)
    steering.skip(run.ref, **BY)
    assert desk.drive(run).state == RunState.SUSPENDED
    runs.release(run.ref, **BY)
    assert desk.drive(run).state == RunState.COMPLETED


# Edit


def test_an_edited_state_is_what_the_run_goes_on_with_and_the_old_one_stays() -> None:
    run = stuck()
    steering.edit_state(run.ref, {"ready": True, "by": "olga"}, **BY)
    steering.retry(run.ref, **BY)
    desk.drive(run)
    assert run.result == {"ready": True, "by": "olga"}
    edit = Checkpoint.objects.get(run=run, kind="edit")
    assert Checkpoint.objects.get(run=run, version=1).state == {}
    assert edit.version > 1


@pytest.mark.parametrize("state", [[], "text", {"a": float("inf")}, {"a": "\ud800"}, {"a": "x" * 2**21}])
def test_a_bad_state_is_refused_and_changes_nothing(state: Any) -> None:
    run = stuck()
    refused(lambda ref, **by: steering.edit_state(ref, state, **by), run.ref, kind=Invalid)
    assert checkpoints.load(run).state == {}


def test_a_state_is_edited_at_rest_alone() -> None:
    run = agents.start("Looper")
    refused(lambda ref, **by: steering.edit_state(ref, {}, **by), run.ref, match="hold it first")


def test_an_event_that_comes_while_a_run_is_stuck_is_kept() -> None:
    @step(retries=0)
    def listen(self: Any, run: RunContext) -> Next:
        run.state["heard"] = run.wait_for("word", within=hours(1))
        raise ValueError

    agents.define("Listening", listen, done)
    run = desk.drive(agents.start("Listening"))
    waits.deliver(run.ref, "word", "hello", dedupe="a")
    desk.drive(run)
    assert run.waits.get(state="open").name == "retries spent"
    waits.deliver(run.ref, "word", "again", dedupe="b")
    assert desk.drive(run).state == RunState.SUSPENDED
