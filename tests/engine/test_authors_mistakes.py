"""What an author gets wrong is told with what was given, the rule, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from durable import runs
from durable.author import Agent, Budget, Next, RunContext, step
from durable.errors import UnknownAgent
from durable.models import Wait
from durable.states import RunState
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)

LENGTH = "must be a length of time, not 5; write seconds(5), hours(2), days(1)"
PAIR = "must be the answer and the tokens that it cost, not"
LIKE = "write `return answer, tokens`"
RETURNED: Any = {"text": "yes", "three": ("yes", 1, 2), "float": ("yes", 1.5), "list": ["yes", -1]}


def answered(request: str) -> Any:
    return RETURNED[request]


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (lambda run: run.sleep(5), f"length: {LENGTH}"),
        (lambda run: run.wait_for("parcel", within=5), f"within: {LENGTH}"),
        (lambda run: run.model(answered, "text", tokens=50), f"answer of answered: {PAIR} a str; {LIKE}"),
        (lambda run: run.model(answered, "three", tokens=50), f"answer of answered: {PAIR} a tuple; {LIKE}"),
        (
            lambda run: run.model(answered, "float", tokens=50),
            f"answer of answered: {PAIR} tokens 1.5; {LIKE}",
        ),
        (lambda run: run.model(answered, "list", tokens=50), f"answer of answered: {PAIR} tokens -1; {LIKE}"),
        (
            lambda run: run.call(agents.pay, order="1", amount=Decimal(40), currency="EUR"),
            "tool: pay has an effect; ask for it with run.effect",
        ),
    ],
)
def test_a_call_that_is_written_wrongly_says_what_to_write(
    mistake: Callable[[RunContext], Any], told: str
) -> None:
    @step(retries=0)
    def err(self: Any, run: RunContext) -> Next:
        mistake(run)
        return None

    run = desk.drive(agents.run_of(err, budget=Budget(tokens=1_000)))
    assert run.state == RunState.SUSPENDED
    assert f"Invalid: “{told}”" in Wait.objects.get(run=run).detail["sentence"]
    assert agents.moved == {}


def test_a_model_may_cost_nothing() -> None:
    def think(request: str) -> tuple[str, int]:
        return "yes", 0

    @step
    def ask(self: Any, run: RunContext) -> Next:
        run.result = run.model(think, "?", tokens=50)
        return None

    assert desk.drive(agents.run_of(ask, budget=Budget(tokens=1_000))).result == "yes"


def test_an_agent_without_a_step_is_said_to_have_none() -> None:
    class Unmarked(Agent):
        def pay(self, run: RunContext) -> Next:
            return None

    with pytest.raises(
        UnknownAgent, match=r"^agent: Unmarked has no step, .* mark a method of it with @step$"
    ):
        runs.start("Unmarked", {}, actor="tests")


def test_an_agent_that_nobody_knows_is_said_to_lack_its_module_in_the_settings() -> None:
    told = r"^agent: there is no agent 'Nobody'; known are .*Walker.*; name its module in INTERLOCK_AGENTS$"
    with pytest.raises(UnknownAgent, match=told):
        runs.start("Nobody", {}, actor="tests")
