"""A gate inside a loop: each round of the loop has effects, keys and decisions of its own, and none is repeated."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from approvals.errors import Stale
from approvals.models import Decision
from approvals.states import Verdict
from durable.author import EffectRefused, Next, RunContext, step
from durable.states import RunState
from tests.engine import agents, desk, people

pytestmark = pytest.mark.django_db


@step
def draft(self: Any, run: RunContext) -> Next:
    """Pay a channel to be told, then ask for the letter; go round again for as long as people say no."""
    run.effect(agents.pay, order="1", amount=Decimal(1), currency="EUR")
    run.state["round"] = run.state.get("round", 0) + 1
    try:
        run.effect(agents.write_letter, to=f"draft {run.state['round']}")
    except EffectRefused as no:
        run.say("reviewer", no.words)
        return self.draft
    return None


def test_each_round_of_a_loop_acts_once_and_has_a_decision_of_its_own() -> None:
    run = desk.drive(agents.run_of(draft))
    for words in ("shorter", "kinder", "shorter still"):
        people.say(run, Verdict.REJECT, words=words)
        desk.drive(run)
    people.say(run)

    assert desk.drive(run).state == RunState.COMPLETED
    paid = [key for key, amount in agents.asked if amount == "1.00"]
    assert paid == [f"{run.ref}:draft{visit}" for visit in ("", "@2", "@3", "@4")]
    assert [words for key, words in agents.asked if "#2" in key] == ["draft 4"]
    verdicts = Decision.objects.filter(gate__effect__run=run).order_by("id").values_list("verdict", flat=True)
    assert list(verdicts) == ["reject", "reject", "reject", "approve"]


def test_an_answer_to_one_round_of_a_loop_is_none_to_the_next() -> None:
    run = desk.drive(agents.run_of(draft))
    first = people.gates(run)[0]
    people.say(run, Verdict.REJECT, words="shorter")
    desk.drive(run)
    (second,) = people.gates(run)

    with pytest.raises(Stale):
        people.say(run, digest=first.digest, round=first.round)

    assert second.pk != first.pk
    assert desk.effects(run)["draft@2#2"] == "gated"
