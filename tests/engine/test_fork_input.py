"""A fork with another input: checked by its agent's type, and nothing is adopted that no longer fits it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, Field

from durable import journal, runs, steering, vault
from durable.author import Next, RunContext, step
from durable.digest import digest
from durable.errors import Invalid
from durable.models import Run
from durable.states import RunState
from tests.engine import agents, desk, people

pytestmark = pytest.mark.django_db(transaction=True)
BY: dict[str, Any] = {"actor": "olga", "reason": "it was the wrong order"}
ASKED = {"order": "1", "amount": "40"}


class Wish(BaseModel, extra="forbid"):
    """What is paid, and for which order."""

    order: str = Field(min_length=1)
    amount: Decimal = Field(gt=0)


@step
def look(self: Any, run: RunContext) -> Next:
    """Ask what it costs."""
    run.state["price"] = run.call(agents.read_price, sku=run.input["order"])
    return self.act


@step
def act(self: Any, run: RunContext) -> Next:
    """Pay for the order of the input, and a fee that it has nothing to do with."""
    run.effect(agents.pay, order=run.input["order"], amount=Decimal(run.input["amount"]), currency="EUR")
    run.effect(agents.pay, order="fee", amount=Decimal(1), currency="EUR")
    run.result = run.state["price"]["sku"]
    return None


@pytest.fixture
def parent() -> Run:
    """A run that has paid 40 and a fee of 1: its checkpoints are 1 start, 2 look, 3 end."""
    agents.define("Payer", look, act, Input=Wish, budget=agents.Walker.budget)
    run = desk.drive(agents.start("Payer", ASKED))
    assert (run.state, len(agents.moved)) == (RunState.COMPLETED, 2)
    agents.asked.clear()
    return run


def fork(parent: Run, version: int = 1, **begins: Any) -> Run:
    return steering.fork(parent.ref, version, **BY, **begins)


def forked(run: Run) -> dict[str, Any]:
    """What the newest event of a run says about its fork, but for the digest of the reason."""
    told = journal.events(run.ref)[-1]
    assert told.kind == "forked"
    body: dict[str, Any] = json.loads(told.body)
    return {name: value for name, value in body.items() if name != "words"}


def test_what_asks_otherwise_for_it_goes_to_people_and_what_asks_the_same_has_its_receipt(
    parent: Run,
) -> None:
    child = desk.drive(fork(parent, input={"order": "2", "amount": "30"}))
    assert desk.effects(child) == {"act": "gated"}
    assert "acted otherwise at this place" in people.gates(child)[0].reason
    assert len(agents.moved) == 2

    people.say(child)
    assert desk.drive(child).state == RunState.COMPLETED
    paid = {key: receipt.amount for key, receipt in agents.moved.items()}
    assert paid == {f"{parent.ref}:act": 40, f"{parent.ref}:act#2": 1, f"{child.ref}:act": 30}


def test_a_value_of_it_that_no_effect_is_about_changes_nothing_that_was_done(parent: Run) -> None:
    child = desk.drive(fork(parent, input={"order": "1", "amount": "40.0"}))
    assert desk.effects(child) == {}
    assert (child.state, len(agents.moved)) == (RunState.COMPLETED, 2)


def test_nothing_that_was_frozen_for_the_old_input_answers_for_the_new_one(parent: Run) -> None:
    child = desk.drive(fork(parent, input={"order": "2", "amount": "40"}))
    assert ("price", "2") in agents.asked
    people.say(child)
    assert desk.drive(child).result == "2"


def test_steps_that_have_ended_are_not_done_again_with_it(parent: Run) -> None:
    child = desk.drive(fork(parent, 2, input={"order": "2", "amount": "40"}))
    assert [one for one in agents.asked if one[0] == "price"] == []
    people.say(child)
    assert desk.drive(child).result == "1"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"order": "", "amount": "40"}, "input.order"),
        ({"order": "1", "amount": "-1"}, "input.amount"),
        ({"order": "1"}, "input.amount"),
        ({**ASKED, "to": "me"}, "input.to"),
        (None, "input"),
        ({**ASKED, "order": "\ud800"}, "input.order"),
    ],
)
def test_an_input_that_the_agent_would_refuse_names_its_field_and_makes_no_run(
    given: Any, field: str, parent: Run
) -> None:
    with pytest.raises(Invalid) as refused:
        fork(parent, input=given)
    assert refused.value.field.rstrip(".") == field
    assert Run.objects.count() == 1
    assert "forked" not in [one.kind for one in journal.events(parent.ref)]


def test_the_ledger_of_both_says_that_it_was_replaced_why_and_by_what(parent: Run) -> None:
    given = {"order": "2", "amount": "30"}
    child = fork(parent, input=given)
    assert forked(parent) == {"version": 1, "fork": child.ref, "input": "replaced"}
    told = journal.events(parent.ref)[-1]
    assert (told.actor, vault.read(told.detail.sealed)) == ("olga", BY["reason"])
    started = json.loads(journal.events(child.ref)[0].body)
    assert started["input"] == child.input_digest == digest({"agent": "Payer", "input": given})
    assert child.input == given and Run.objects.get(pk=parent.pk).input == ASKED


def test_the_same_input_is_no_other_one(parent: Run) -> None:
    child = fork(parent, input=dict(ASKED))
    assert forked(parent) == {"version": 1, "fork": child.ref}
    assert child.input_digest == parent.input_digest


def test_truth_is_not_one(parent: Run) -> None:
    run = agents.run_of(act, Input=None)
    runs.hold(run.ref, **BY)
    Run.objects.filter(pk=run.pk).update(input={"count": 1})
    child = steering.fork(run.ref, 1, **BY, state={"count": 1}, input={"count": True})
    assert child.input == {"count": True}
    assert forked(run)["input"] == "replaced"
    again = steering.fork(run.ref, 1, **BY, input={"count": 1})
    assert "input" not in forked(run) and again.input == {"count": 1}
