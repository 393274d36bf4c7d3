"""What is told of a step that fails, and which failures are not tried again."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from durable import steering
from durable.author import Next, RunContext, VendorRefused, step, tool
from durable.models import Wait
from durable.states import RunState
from tests.engine import agents, desk

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_error_that_a_call_raises_is_told_with_the_authors_line_and_logged_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def ask(run: RunContext) -> None:
        run.effect(agents.pay, order="ada@example.org", amount=Decimal("1.001"), currency="EUR")

    @step(retries=0)
    def pay(self: Any, run: RunContext) -> Next:
        ask(run)
        return None

    run = desk.drive(agents.run_of(pay))
    line = ask.__code__.co_firstlineno + 1
    assert (
        Wait.objects.get(run=run)
        .detail["sentence"]
        .endswith(f" (test_steps_that_fail.py, line {line}, in ask)")
    )
    (told,) = [record.getMessage() for record in caplog.records if "step pay" in record.getMessage()]
    assert f"test_steps_that_fail.py:{line} in ask < " in told and "in to_minor < " in told
    assert "\n" not in told and "1.001" not in told and "ada@" not in told


def test_what_a_vendor_refused_a_read_for_good_is_not_asked_for_again_by_itself() -> None:
    @tool(reads=True, name="find_nothing")
    def find(order: str) -> str:
        agents.asked.append(("find", order))
        raise VendorRefused("not_found", "there is no such order")

    @step
    def look(self: Any, run: RunContext) -> Next:
        run.call(find, order="8812")
        return None

    run = agents.run_of(look)
    assert desk.drive(run).state == RunState.SUSPENDED
    assert agents.asked == [("find", "8812")]
    wait = Wait.objects.get(run=run)
    assert "there is no such order" in wait.detail["sentence"] and wait.name == "retries spent"
    steering.retry(run.ref, actor="olga", reason="the order is there now")
    assert desk.drive(run).state == RunState.SUSPENDED and len(agents.asked) == 2


def test_a_step_may_go_on_from_a_read_that_the_vendor_refused() -> None:
    @tool(reads=True, name="find_none")
    def find(order: str) -> str:
        raise VendorRefused("not_found", "there is no such order")

    @step
    def look(self: Any, run: RunContext) -> Next:
        with suppress(VendorRefused):
            run.call(find, order="8812")
        return None

    assert desk.drive(agents.run_of(look)).state == RunState.COMPLETED
