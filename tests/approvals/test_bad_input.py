"""What no form posts, and people or their scripts post all the same: refused in words, and nothing is done."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import BulkAct, Decision, Gate
from durable import runs, standing
from durable.models import Run
from durable.tools import tool
from durable.vendor import Call, Receipt
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_commands import stuck

pytestmark = pytest.mark.django_db

DEEP = "[" * 100_000
NO_GOOD = [
    pytest.param('{"a": ' + "9" * 5000 + "}", "2^53", id="a number of 5,000 digits"),
    pytest.param(DEEP, "nested at most 64 deep", id="too deep"),
    pytest.param('{"a": ' + DEEP, "nested at most 64 deep", id="too deep within"),
    pytest.param('{"a": "\\ud800"}', "half of a surrogate pair", id="half a pair"),
    pytest.param('{"a": "\\u0000"}', "NUL", id="NUL"),
    pytest.param('{"a": 1, "a": 2}', "once, not twice", id="twice"),
    pytest.param('{"a": NaN}', "finite numbers", id="NaN"),
    pytest.param('{"a": 1e400}', "finite number", id="infinity"),
    pytest.param("{", "must be JSON", id="no JSON"),
]


@tool(vendor="test shelf", subject="order")
def count_out(call: Call, order: str, count: int) -> Receipt:
    raise NotImplementedError


@pytest.mark.parametrize(("text", "says"), NO_GOOD)
@pytest.mark.parametrize("noun", ["state", "forks"])
def test_a_state_that_is_no_good_json_is_refused_with_the_place_and_stays_as_it_was_typed(
    noun: str, text: str, says: str, olga: Client
) -> None:
    run = stuck()
    runs.hold(run.ref, actor="desk", reason="to look")  # what is held can be forked, and edited too
    before = Run.objects.count(), Run.objects.get(pk=run.pk).version
    seen = {"seen": standing.of(run).whole, "reason": "x", "version": run.version, "alone": "yes"}
    answer = olga.post(reverse(noun, args=[run.ref]), {**seen, "state": text})
    assert answer.status_code == 422 and says in answer.context["problem"]
    assert answer.context["problem"].startswith("Nothing was done: Working state: ")
    assert (Run.objects.count(), Run.objects.get(pk=run.pk).version) == before
    if len(text) < 100:
        assert text.replace('"', "&quot;") in answer.content.decode()


def edit(client: Client, gate: Gate, **args: str) -> Any:
    data = {"verdict": "edit", "digest": gate.digest, "round": gate.round, "reason": ""}
    return client.post(
        reverse("decisions", args=[gate.pk]), data | {f"arg-{name}": text for name, text in args.items()}
    )


@pytest.mark.parametrize(
    ("text", "says"), [*NO_GOOD, pytest.param("three", "such as 3, true, null or [1, 2]", id="a word")]
)
def test_an_argument_that_is_no_good_json_is_refused_by_its_name(
    text: str, says: str, sign_in: SignIn
) -> None:
    claim = factories.running()
    gate = Gate.objects.get(effect=factories.propose(claim, count_out, order="8812", count=3))
    factories.suspend(claim)
    answer = edit(sign_in(factories.person("alice")), gate, order="8812", count=text)
    assert answer.status_code == 422 and says in answer.context["problem"]
    assert answer.context["problem"].startswith("Nothing was recorded: count")
    assert Decision.objects.count() == 0 and Gate.objects.count() == 1


def test_an_argument_with_a_nul_is_refused_by_its_name(sign_in: SignIn) -> None:
    gate = factories.gate()
    answer = edit(sign_in(factories.person("alice")), gate, order="8812\x00", amount="120", currency="EUR")
    assert answer.status_code == 422
    assert answer.context["problem"] == "Nothing was recorded: order: Null characters are not allowed."
    assert Decision.objects.count() == 0


@pytest.mark.parametrize("ref", [b"run-1%00", b"%ED%A0%80"])
def test_the_id_of_a_run_that_no_database_could_hold_is_the_id_of_none(ref: bytes, olga: Client) -> None:
    body = b"act=holds&run=" + ref
    answer = olga.post(reverse("bulk-drafts"), body, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 422 and "choose at least one run" in answer.context["problem"]
    assert not BulkAct.objects.exists()
