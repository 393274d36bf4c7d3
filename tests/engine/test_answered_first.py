"""A person who answers before the run that asked has come to rest: the answer counts, the run does not lie down."""

from __future__ import annotations

from typing import Any

import pytest

from durable.author import Next, RunContext, step
from durable.states import RunState
from tests.engine import agents, desk, people

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_yes_between_asking_and_suspending_queues_the_run_at_once() -> None:
    @step
    def write(self: Any, run: RunContext) -> Next:
        try:
            run.effect(agents.write_letter, to="Ada")
        except BaseException:
            if people.gates(asking):
                desk.meanwhile(lambda: people.say(asking))
            raise
        return None

    asking = agents.run_of(write)

    assert desk.drive(asking).state == RunState.QUEUED
    assert desk.drive(asking).state == RunState.COMPLETED
    assert agents.asked == [(f"{asking.ref}:write", "Ada")]
