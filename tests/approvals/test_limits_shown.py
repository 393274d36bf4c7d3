"""A run's deadline, while people take their time: what pages say of it is what happens."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse

from approvals.models import Gate
from durable import recovery, steering
from durable.author import Budget, Next, RunContext, hours, minutes, step
from durable.clock import db_now
from durable.models import Run
from durable.states import RunState
from tests import factories
from tests.approvals.answering import answer
from tests.approvals.conftest import SignIn
from tests.approvals.test_gate_cases import words_of
from tests.engine import agents, desk
from tests.engine.conftest import world

__all__ = ["world"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("world")]


def writes(**more: Any) -> Run:
    """A run of two hours that waits for people."""

    @step
    def write(self: Any, run: RunContext) -> Next:
        run.effect(agents.write_letter, to="ann@example.com")
        return None

    agents.define("Writer", write, budget=Budget(deadline=hours(2)), **more)
    return desk.drive(agents.start("Writer"))


def test_a_yes_that_comes_after_the_runs_deadline_sends_nothing_and_every_page_says_so(
    sign_in: SignIn,
) -> None:
    run = writes()
    gate = Gate.objects.select_related("effect__run", "wait").get()
    alice = factories.person("alice")
    reviewer, operator = sign_in(alice), sign_in(factories.person("olga"))
    shown = words_of(reviewer.get(reverse("gate", args=[gate.pk])).content.decode())
    assert "in 1 h 59 min" in shown or "in 2 h" in shown
    assert "nothing of this run is sent any more" not in shown
    desk.time_passes(hours=3)
    page = reviewer.get(reverse("gate", args=[gate.pk]))
    shown = words_of(page.content.decode())
    assert "1 h ago: nothing of this run is sent any more, whatever is answered" in shown
    assert page.context["gate"]["state"] == "gated"  # its own clock is another one
    answer(alice, gate)
    desk.drive(run)
    assert (run.state, agents.asked) == (RunState.SUSPENDED, [])
    stands = operator.get(reverse("run", args=[run.ref])).context["run"]
    assert stands["wait"] == "budget spent" and "deadline" in stands["why"]
    steering.retry(run.ref, actor="olga", reason="try it")
    desk.drive(run)
    assert (run.state, agents.asked) == (RunState.SUSPENDED, [])


def test_pauses_take_nothing_from_a_deadline_and_give_nothing_back(sign_in: SignIn) -> None:
    seen: list[int] = []

    @step
    def rest(self: Any, run: RunContext) -> Next:
        seen.append(run.visit)
        run.sleep(minutes(1))
        following: Next = self.rest if run.visit < 6 else None
        return following

    agents.define("Rester", rest, budget=Budget(deadline=hours(2), steps=20))
    run = desk.drive(agents.start("Rester"))
    operator = sign_in(factories.person("olga"))
    ends: list[datetime] = []
    for pause in range(6):
        run.refresh_from_db()
        assert run.budget.deadline is not None
        # Time passes by moving what is stored: what is left of the deadline is what a clock would show.
        ends.append(run.budget.deadline + timedelta(minutes=pause))
        gauge = next(
            one
            for one in operator.get(reverse("run", args=[run.ref])).context["budget"]
            if "runs on through waits" in one["words"]
        )
        left = (run.budget.deadline - db_now()).total_seconds()
        assert gauge["limit"] - gauge["spent"] == pytest.approx(left, abs=15)
        desk.time_passes(minutes=1)
        recovery.sweep()
        desk.drive(run)
    assert run.state == RunState.COMPLETED and {*seen} == {1, 2, 3, 4, 5, 6}
    assert max(ends) - min(ends) < timedelta(seconds=1)
