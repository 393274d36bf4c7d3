"""What the first page shows: whatever needs a person, each with the way to it."""

from __future__ import annotations

import pytest
from django.db import transaction
from django.urls import reverse

from durable import waits
from durable.models import Run
from durable.states import Attention
from durable.transitions import lock_run
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db


def stuck() -> Run:
    claim = factories.running()
    with transaction.atomic():
        waits.open_attention(lock_run(claim.run_ref), Attention.RETRIES, "It failed three times.")
    return factories.suspend(claim)


def test_a_stuck_run_stands_on_the_first_page_with_why_and_since_when(sign_in: SignIn) -> None:
    run, gate = stuck(), factories.gate()
    page = sign_in(factories.person("olga")).get(reverse("home"))
    (row,) = page.context["stuck"]
    assert (row["run_id"], row["state"], row["since"]) == (run.ref, "retries spent", run.changed_at)
    assert "It failed three times." in row["why"]
    assert [waiting["gate_id"] for waiting in page.context["expiring"]] == [gate.pk]
    assert reverse("run", args=[run.ref]) in page.content.decode()


def test_the_first_page_leads_only_to_lists_that_hold_what_it_counted(sign_in: SignIn) -> None:
    stuck()
    factories.gate()
    olga = sign_in(factories.person("olga"))
    figures = {figure["label"]: figure for figure in olga.get(reverse("home")).context["figures"]}
    assert [figures[label]["value"] for label in ("Gates waiting", "Stuck")] == ["1", "1"]
    assert len(olga.get(figures["Stuck"]["href"]).context["runs"]) == 1
