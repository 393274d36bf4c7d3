"""The page of a fork: it names the step, lets another state and input be given, and shows what they change before it is
done.
"""

from __future__ import annotations

import json
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse
from pydantic import BaseModel, Field

from durable import plan, runs, steering
from durable.models import LedgerEvent, Run
from durable.text import MAX_BYTES
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db

NOTHING_YET = "Nothing is done yet. Look at what you have changed, then fork."


class Ticket(BaseModel, extra="forbid"):
    """What is wanted for an order."""

    order: str = Field(min_length=1)
    wants: Literal["money", "a mug"] = "money"


class Clerk(plan.Agent):
    """Two steps, of which a test drives none."""

    name = "clerk"
    Input = Ticket

    @plan.step
    def look(self, run: Any) -> Any:
        return self.tell

    @plan.step
    def tell(self, run: Any) -> None: ...


@pytest.fixture
def run() -> Run:
    """A held run, with one checkpoint."""
    made = runs.start("clerk", {"order": "8812"}, actor="desk")
    runs.hold(made.ref, actor="desk", reason="to look at it")
    return Run.objects.get(pk=made.pk)


def page(client: Client, run: Run, version: int = 1) -> Any:
    return client.get(reverse("fork", args=[run.ref]), {"version": str(version)})


def post(client: Client, page: Any, /, **typed: str) -> Any:
    """Send the form of a page as it stands there, but for what is typed."""
    act = page.context["act"]
    stands = {field.name: field.value() for field in act["fields"]}
    return client.post(act["url"], {**act["hidden"], **stands, "reason": "wrong order", **typed})


def fork_of(run: Run) -> Run:
    return Run.objects.get(parent=run)


def said(run: Run) -> dict[str, Any]:
    (event,) = LedgerEvent.objects.filter(run_ref=run.ref, kind="forked")
    body: dict[str, Any] = json.loads(event.body)
    return {name: value for name, value in body.items() if name != "words"}  # the digest of the reason


def test_it_names_the_step_and_holds_the_state_and_the_input_as_they_are(run: Run, olga: Client) -> None:
    shown = page(olga, run)
    assert shown.context["act"]["preview"][0] == "It begins at step look."
    fields = {field.name: field.value() for field in shown.context["act"]["fields"]}
    assert fields == {"input": '{\n  "order": "8812",\n  "wants": "money"\n}', "state": "{}"}
    assert "clerk takes: order, wants." in shown.content.decode()
    answer = post(olga, shown)
    assert (answer.status_code, answer["Location"]) == (303, reverse("run", args=[fork_of(run).ref]))
    assert said(run) == {"version": 1, "fork": fork_of(run).ref}


def test_another_input_is_shown_as_a_difference_first_and_then_forked_with(run: Run, olga: Client) -> None:
    typed = {"input": '{"order": "8821", "wants": "money"}'}
    looked = post(olga, page(olga, run), **typed)
    assert looked.status_code == 200 and NOTHING_YET in looked.content.decode()
    assert not Run.objects.filter(parent=run).exists()
    (change,) = looked.context["changes"]
    assert [(one["name"], one["shown"], one["current"]) for one in change["rows"]] == [
        ("order", '"8812"', '"8821"')
    ]
    lines = looked.context["act"]["preview"]
    assert "Steps from here on see another input, as shown above." in lines
    assert "wrong order</textarea>" in looked.content.decode()

    assert post(olga, looked).status_code == 303
    assert fork_of(run).input == {"order": "8821", "wants": "money"}
    assert said(run) == {"version": 1, "fork": fork_of(run).ref, "input": "replaced"}
    log = olga.get(reverse("log", args=[run.ref])).content.decode()
    assert "forked the run, with another input" in log and "wrong order" in log


def test_another_state_is_shown_as_a_difference_first_and_then_forked_with(run: Run, olga: Client) -> None:
    looked = post(olga, page(olga, run), state='{"order": "8821"}')
    assert looked.status_code == 200
    assert [change["id"] for change in looked.context["changes"]] == ["state"]
    assert post(olga, looked).status_code == 303
    forked = fork_of(run)
    assert forked.checkpoints.get(version=forked.version).state == {"order": "8821"}
    assert run.checkpoints.get(version=1).state == {}
    assert said(run) == {"version": 1, "fork": forked.ref, "state": "replaced"}


def test_what_is_changed_once_more_is_shown_once_more(run: Run, olga: Client) -> None:
    looked = post(olga, page(olga, run), input='{"order": "8821"}')
    again = post(olga, looked, input='{"order": "8833"}')
    assert again.status_code == 200 and "8833" in str(again.context["changes"])
    other = post(olga, looked, shown=again.context["act"]["hidden"]["shown"], input='{"order": "1"}')
    assert other.status_code == 200
    assert not Run.objects.filter(parent=run).exists()
    assert post(olga, again).status_code == 303
    assert fork_of(run).input["order"] == "8833"


def test_a_run_that_has_moved_on_since_the_difference_was_shown_is_not_forked(run: Run, olga: Client) -> None:
    looked = post(olga, page(olga, run), input='{"order": "8821"}')
    steering.edit_state(run.ref, {"order": "1"}, actor="desk", reason="so")
    answer = post(olga, looked)
    assert answer.status_code == 409 and "has moved on" in answer.context["problem"]
    assert [change["id"] for change in answer.context["changes"]] == ["input"]
    assert not Run.objects.filter(parent=run).exists()
    assert post(olga, answer).status_code == 303


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("input", '{"order": ""}', "Input: order: String should have at least 1 character"),
        ("input", '{"wants": "money"}', "Input: order: Field required"),
        ("input", '{"order": "1", "wants": "all"}', "Input: wants: Input should be"),
        ("input", '{"order": "1", "to": "me"}', "Input: to: Extra inputs are not permitted"),
        ("input", "null", "Input: Input should be a valid dictionary"),
        ("input", "{", "Input: must be JSON: "),
        ("input", '{"order": "1", "order": "2"}', "Input: order: must be given once"),
        ("input", '{"order": NaN}', "Input: must not hold NaN"),
        ("state", "[1]", "Working state: must be an object"),
        ("state", "null", "Working state: must be an object"),
        ("state", '{"a": "\\u0000"}', "Working state: a: "),
    ],
)
def test_what_its_agent_would_refuse_names_the_field_and_changes_nothing(
    field: str, typed: str, words: str, run: Run, olga: Client
) -> None:
    answer = post(olga, page(olga, run), **{field: typed})
    assert answer.status_code == 422 and words in answer.context["problem"], answer.context["problem"]
    shown = {one.name: one.value() for one in answer.context["act"]["fields"]}
    assert shown[field] == typed
    assert not Run.objects.filter(parent=run).exists()


def test_an_empty_field_leaves_things_as_they_are(run: Run, olga: Client) -> None:
    assert post(olga, page(olga, run), input="", state=" ").status_code == 303
    assert fork_of(run).input == run.input
    assert said(run) == {"version": 1, "fork": fork_of(run).ref}


def test_a_run_with_as_large_a_state_as_may_be_is_forked_from_its_page(run: Run, olga: Client) -> None:
    state = {"note": "ä" * ((MAX_BYTES - 20) // 2)}  # a letter of two bytes takes six in the body of a form
    run.checkpoints.filter(version=1).update(state=state)
    act = page(olga, run).context["act"]
    stands = {field.name: field.value() for field in act["fields"]}
    body = urlencode({**act["hidden"], **stands, "reason": "wrong order"})
    answer = olga.post(act["url"], body, content_type="application/x-www-form-urlencoded")
    assert len(body) > 3_000_000 and answer.status_code == 303
    assert fork_of(run).checkpoints.get().state == state


def test_who_may_not_edit_a_state_is_offered_no_field_and_gives_no_other_state_and_no_other_input(
    run: Run, sign_in: SignIn
) -> None:
    person = factories.person("olga")
    group = person.groups.get()
    group.permissions.remove(group.permissions.get(codename="edit_run_state"))
    olga = sign_in(person)
    shown = page(olga, run)
    assert shown.context["act"]["fields"] == []
    for given in ({"state": '{"a": 1}'}, {"input": '{"order": "1"}'}):
        assert post(olga, shown, **given).status_code == 403
    assert not Run.objects.filter(parent=run).exists()
    assert post(olga, shown).status_code == 303


def test_a_fork_of_what_is_not_kept_and_a_page_for_whom_it_is_not(
    run: Run, olga: Client, sign_in: SignIn
) -> None:
    assert page(olga, run, 77).status_code == 404
    answer = post(olga, page(olga, run), version="77", input='{"order": "1"}')
    assert answer.status_code == 404 and not Run.objects.filter(parent=run).exists()
    for who, status in (("rita", 403), ("charlie", 403)):
        assert page(sign_in(factories.person(who)), run).status_code == status, who
