"""A model's answer when the word comes that the worker is to end: it is on record, and paid for once."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from durable import draining
from durable.author import Next, RunContext, step
from durable.models import Effect
from tests.engine import agents, desk
from tests.engine.test_draining import another_worker, handed_back

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("heard")]


def test_a_models_answer_is_kept_when_the_word_comes_while_people_are_about_to_be_asked() -> None:
    def watch(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if "INSERT INTO durable_effect" in str(sql):
            draining.begin()
        return execute(sql, params, many, context)

    @step
    def act(self: Any, run: RunContext) -> Next:
        run.state["said"] = run.model(agents.think, 1, tokens=50)["answer"]
        run.effect(agents.write_letter, to="ada")
        return None

    run = agents.run_of(act)
    with connection.execute_wrapper(watch):
        desk.drive(run)
    assert handed_back(run)
    assert not Effect.objects.filter(run=run).exists()
    assert (run.budget.tokens_used, run.budget.tokens_reserved) == (10, 0)

    another_worker(run)
    assert desk.effects(run) == {"act": "gated"}
    assert agents.asked == [("model", 1)]
    run.budget.refresh_from_db()
    assert (run.budget.tokens_used, run.budget.tokens_reserved) == (10, 0)
