"""No page asks the database more often because there is more to show."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.models import Gate
from approvals.queries import pages as listing
from durable.models import Branch, Budget, Checkpoint, Run
from durable.models.fields import Clock
from tests import factories
from tests.approvals.answering import edited
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db

MOST = 15
GATES, RUNS = 200, 300


@pytest.fixture
def busy() -> Gate:
    """200 gates that wait, 300 runs besides, some of them held."""
    gates = [factories.gate(amount=f"{101 + n}") for n in range(GATES)]
    budget, branch = Budget.objects.create(), Branch.objects.create()
    states = ("completed", "failed", "queued", "cancelled")
    Run.objects.bulk_create(
        Run(
            ref=f"run-q{n}", agent="refund_desk", input={"order": str(n)}, input_digest="0" * 64, requester="shop",
            state=states[n % 4], step="pay", budget=budget, branch=branch, due_at=None,
        )
        for n in range(RUNS)
    )  # fmt: skip
    return gates[-1]


def test_every_page_stays_within_its_bound(busy: Gate, sign_in: SignIn) -> None:
    effect = busy.effect
    cast = {"sven": sign_in(factories.person("olga")), "marta": sign_in(factories.person("alice"))}
    pages = {
        "home": reverse("home"),
        "inbox": reverse("gates"),
        "gate": reverse("gate", args=[busy.pk]),
        "runs": reverse("runs"),
        "runs, searched": reverse("runs") + "?q=8812",
        "run": reverse("run", args=[effect.run.ref]),
        "ledger": reverse("ledger"),
        "ledger, searched": reverse("ledger") + "?q=8812&state=gated",
        "effect": reverse("effect", args=[effect.key]),
        "tools": reverse("tools"),
    }
    asked = {}
    for who, client in cast.items():
        for name, path in pages.items():
            with CaptureQueriesContext(connection) as queries:
                assert client.get(path, follow=name != "home").status_code in (200, 302)
            asked[f"{name} for {who}"] = len(queries)
    assert {name: count for name, count in asked.items() if count > MOST} == {}


def test_a_poll_of_an_unchanged_page_asks_next_to_nothing(busy: Gate, sign_in: SignIn) -> None:
    client = sign_in(factories.person("olga"))
    version = client.get(reverse("run", args=[busy.effect.run.ref])).context["run"]["version"]
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(
            reverse("run", args=[busy.effect.run.ref]), {"seen": version}, headers={"HX-Request": "true"}
        )
    assert answer.status_code == 204
    assert len(queries) <= 6


def test_the_list_says_when_a_run_has_moved_last_though_its_state_is_an_hour_old(sign_in: SignIn) -> None:
    run = Run.objects.get(pk=factories.running().run_id)
    assert run.branch is not None
    Run.objects.filter(pk=run.pk).update(changed_at=Clock() - timedelta(hours=1))
    step = Checkpoint.objects.create(
        run=run, version=run.version, kind="step", step="pay", visit=1, next_step="pay", next_visit=2, attempt=1,
        state={}, state_version=run.version, progress={}, branch=run.branch, message_count=0,
    )  # fmt: skip
    step.refresh_from_db()
    (shown,) = sign_in(factories.person("olga")).get(reverse("runs")).context["runs"]
    assert shown["moved_at"] == step.at


def test_a_gate_with_rounds_behind_the_first_page_stays_within_the_bound_too(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 1)
    factories.gate()
    newest = edited(factories.gate(), factories.person("bob"))
    client = sign_in(factories.person("olga"))
    with CaptureQueriesContext(connection) as queries:
        page = client.get(reverse("gate", args=[newest.pk]))
    assert page.context["queue"]["ids"] == [newest.pk] and page.context["rounds"]
    assert len(queries) <= MOST
