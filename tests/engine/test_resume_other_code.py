"""Code changes between a run's start and its resume: it goes on, or a person is told what no longer fits."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from durable import plan, recovery, steering
from durable.author import Next, RunContext, hours, step
from durable.models import Run, Wait
from durable.states import RunState
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)

#: Which steps were executed, by the code that was there then.
went: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_went() -> None:
    went.clear()


def passing(name: str, *, to: str | None, rests: bool = False, **facts: Any) -> Any:
    """A step that notes its name, and perhaps sleeps an hour."""

    def function(self: Any, run: RunContext) -> Next:
        went.append(name)
        run.state[name] = run.visit
        if rests:
            run.sleep(hours(1))
        return None if to is None else getattr(self, to)

    function.__name__ = name
    return step(**facts)(function)


def asleep(**attributes: Any) -> Run:
    """A run of three steps that rests in its second."""
    agents.define(
        "Plan",
        passing("draft", to="check"),
        passing("check", to="send", rests=True),
        passing("send", to=None),
        **attributes,
    )
    run = desk.drive(agents.start("Plan"))
    assert (run.state, run.step) == (RunState.SUSPENDED, "check")
    return run


def awake(run: Run) -> Run:
    """An hour later, and under whatever code there is by now."""
    desk.time_passes(hours=2)
    recovery.sweep()
    return desk.drive(run)


def why(run: Run) -> tuple[str, str]:
    assert run.state == RunState.SUSPENDED
    wait = Wait.objects.get(run=run, state="open")
    assert wait.waits_for == "operator"
    return wait.name, wait.detail["sentence"]


def test_a_renamed_step_that_says_so_goes_on_under_its_old_name() -> None:
    run = asleep()
    agents.define(
        "Plan",
        passing("draft", to="verify"),
        passing("verify", to="send", rests=True, was=("check",)),
        passing("send", to=None),
    )
    awake(run)
    assert run.state == RunState.COMPLETED
    assert went == ["draft", "check", "verify", "send"]
    assert run.waits.get(kind="timer").step == "check"


def test_a_renamed_step_that_does_not_say_so_is_incompatible() -> None:
    run = asleep()
    agents.define(
        "Plan", passing("draft", to="verify"), passing("verify", to="send"), passing("send", to=None)
    )
    reason, sentence = why(awake(run))
    assert reason == "code incompatible"
    assert "no step check any more" in sentence and "was=('check',)" in sentence
    assert went == ["draft", "check"]


def test_a_removed_step_is_incompatible_until_it_is_back() -> None:
    run = asleep()
    before = plan.get("Plan")
    agents.define("Plan", passing("draft", to="send"), passing("send", to=None))
    assert why(awake(run))[0] == "code incompatible"
    plan._agents["Plan"] = before
    steering.retry(run.ref, actor="olga", reason="the code is back")
    desk.drive(run)
    assert run.state == RunState.COMPLETED


def test_a_removed_step_can_be_left_by_skipping_to_another() -> None:
    run = asleep()
    agents.define("Plan", passing("draft", to="send"), passing("send", to=None))
    awake(run)
    steering.skip(run.ref, actor="olga", reason="checking is no more", to="send")
    desk.drive(run)
    assert run.state == RunState.COMPLETED
    assert went == ["draft", "check", "send"]


def test_a_removed_step_where_no_run_stands_disturbs_nobody() -> None:
    run = asleep()
    agents.define("Plan", passing("check", to="send", rests=True), passing("send", to=None))
    assert awake(run).state == RunState.COMPLETED


def test_an_added_step_is_taken_by_runs_that_have_not_passed_it() -> None:
    run = asleep()
    agents.define(
        "Plan",
        passing("draft", to="check"),
        passing("check", to="weigh", rests=True),
        passing("weigh", to="send"),
        passing("send", to=None),
    )
    awake(run)
    assert run.state == RunState.COMPLETED
    assert went == ["draft", "check", "check", "weigh", "send"]


def test_reordered_steps_change_nothing_for_a_run_under_way() -> None:
    run = asleep()
    agents.define(
        "Plan",
        passing("send", to=None),
        passing("check", to="send", rests=True),
        passing("draft", to="check"),
    )
    awake(run)
    assert run.state == RunState.COMPLETED
    assert went == ["draft", "check", "check", "send"]


def test_a_step_that_goes_on_to_no_step_is_incompatible() -> None:
    run = asleep()

    def helper(self: Any, run: RunContext) -> None:
        return None

    def check(self: Any, run: RunContext) -> Next:
        following: Next = self.helper
        return following

    agents.define("Plan", step(check), helper)
    assert "goes on to helper, which is no step" in why(awake(run))[1]


def test_a_state_whose_types_have_changed_is_incompatible_and_says_where() -> None:
    run = asleep()

    class State(BaseModel, extra="allow"):
        draft: list[str]

    agents.define("Plan", passing("check", to="send"), passing("send", to=None), State=State)
    reason, sentence = why(awake(run))
    assert reason == "code incompatible"
    assert "state.draft" in sentence
    assert went == ["draft", "check"]


def test_a_state_that_an_operator_has_mended_goes_on() -> None:
    run = asleep()

    class State(BaseModel, extra="allow"):
        draft: list[str]

    agents.define("Plan", passing("check", to="send"), passing("send", to=None), State=State)
    awake(run)
    steering.edit_state(run.ref, {"draft": ["one"]}, actor="olga", reason="as the new code has it")
    steering.retry(run.ref, actor="olga", reason="mended")
    desk.drive(run)
    assert run.state == RunState.COMPLETED


def test_a_state_of_a_fitting_new_type_goes_on() -> None:
    run = asleep()

    class State(BaseModel, extra="allow"):
        draft: int
        weight: int = 0

    agents.define("Plan", passing("check", to="send"), passing("send", to=None), State=State)
    assert awake(run).state == RunState.COMPLETED


def test_an_input_that_the_new_code_refuses_is_incompatible_and_says_where() -> None:
    class Input(BaseModel):
        order: str

    run = asleep()
    agents.define("Plan", passing("check", to="send"), passing("send", to=None), Input=Input)
    reason, sentence = why(awake(run))
    assert reason == "code incompatible"
    assert "input.order" in sentence


def test_an_agent_that_is_gone_is_said_to_be_missing() -> None:
    run = asleep()
    del plan._agents["Plan"]
    reason, sentence = why(awake(run))
    assert reason == "code missing"
    assert sentence.startswith("there is no agent 'Plan'; known are ")
    assert sentence.endswith("name its module in INTERLOCK_AGENTS, restart the workers, then resume the run")
