"""What an open page hears although its own rows stand still: money and tokens of a run, what comes after an effect is
settled; and which refusals the log hears of.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from approvals.acts import fits, offered
from approvals.queries import run as one_run
from durable import runs, steering, waits
from durable.models import Budget, Effect, Purse
from durable.states import Attention
from durable.transitions import lock_run
from tests import factories
from tests.approvals.test_attempts import refusals
from tests.approvals.test_commands import stuck
from tests.approvals.test_compensation_page import applied
from tests.approvals.test_forms import command
from tests.approvals.test_radius import pays, run_with

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def told(client: Client, path: str, seen: str) -> int:
    return client.get(path, {"seen": seen}, headers=HTMX).status_code


@pytest.mark.parametrize(
    ("model", "spent"),
    [
        (Budget, {"tokens_used": 900}),
        (Budget, {"tokens_reserved": 900}),
        (Budget, {"steps_used": 3}),
        (Purse, {"reserved_minor": 100}),
        (Purse, {"spent_minor": 100}),
    ],
)
def test_a_runs_page_hears_of_what_is_spent_of_its_budget_by_whomever(
    model: Any, spent: dict[str, int], olga: Client
) -> None:
    run = factories.gate().effect.run
    path = reverse("run", args=[run.ref])
    seen = olga.get(path).context["run"]["version"]
    assert told(olga, path, seen) == 204
    key = {"pk": run.budget_id} if model is Budget else {"budget": run.budget_id}
    model.objects.filter(**key).update(**spent)
    assert told(olga, path, seen) == 200


def test_the_page_of_a_settled_effect_hears_of_an_alarm(olga: Client) -> None:
    run, (effect, _) = applied("completed")
    path = reverse("effect", args=[effect.key])
    page = olga.get(path)
    seen = page.context["effect"]["version"]
    assert f"seen={seen}" in page.content.decode() and told(olga, path, seen) == 204
    with transaction.atomic():
        waits.open_attention(
            lock_run(run.ref), Attention.CONFLICT, "Twice.", effect=effect, evidence={"alarm": True}
        )
    assert told(olga, path, seen) == 200


def test_a_command_that_comes_too_late_stands_in_the_log_with_its_reason(olga: Client) -> None:
    run = factories.gate().effect.run
    runs.cancel(run.ref, actor="otto", reason="wrong order")
    assert command(olga, run, "retries", reason="again").status_code == 409
    (act,) = refusals()
    assert (act.actor, act.concerns, act.body["address"]) == ("olga", run.ref, "retries")
    assert act.body["why"].startswith("Nothing was done: ")


def test_a_verdict_that_comes_too_late_stands_in_the_log(olga: Client) -> None:
    _, (effect, _) = applied("completed")
    said = {"verdict": "did not", "reason": "I called them", "seen": "0" * 16}
    assert olga.post(reverse("verdicts", args=[effect.key]), said).status_code == 409
    (act,) = refusals()
    assert (act.concerns, act.body["address"]) == (effect.key, "verdicts") and "is applied" in act.body["why"]


def test_compensating_is_offered_only_where_something_was_applied() -> None:
    person = factories.person("olga")
    for effects, offers in (((), False), (((factories.pay_out, "applied", pays("10")),), True)):
        read = one_run.read(run_with(*effects, state="failed"))
        assert ("compensations" in [act["id"] for act in offered(person, read)]) is offers
        assert fits("compensations", read) is offers


def test_what_a_vendor_certainly_did_not_do_hinders_no_skip() -> None:
    run, other = stuck(), run_with((factories.pay_out, "pending", pays("10")))
    Effect.objects.filter(run=other).update(run=run.pk, sends=1, open_sends=0)
    steering.skip(run.ref, actor="olga", reason="the vendor is busy")
    assert Effect.objects.get(run=run).state == "withdrawn"
