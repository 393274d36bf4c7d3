"""What became of a run's data is told as it was: by the retention policy, by an erasure, or by nobody knows whom."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from approvals import moments
from approvals.queries import erasures, subjects
from durable import retention, vault
from durable.models import Effect, Run, SealKey
from durable.retention import terms
from durable.retention.terms import Terms
from durable.states import RunState
from tests.engine import agents, desk, people
from tests.vendors import Vendor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("kit")]


def ended(vendor: Vendor) -> Run:
    """A run with a refund, whose effect is about an order."""
    desk.order(vendor, amount="40.00", name="8813")
    run = desk.drive(desk.start("8813", text="It is broken."))
    assert run.state == RunState.COMPLETED
    return run


def gone_on(run: Run) -> str:
    """The day on which a run's key was destroyed."""
    at = SealKey.objects.get(run=run).destroyed_at
    assert at is not None
    return moments.day(at)


def pruned(run: Run) -> str:
    """Let retention take its payloads; returns the day."""
    terms.change(Terms(payloads=400), actor="ada", reason="less to lose", seen=terms.policy().pk)
    desk.time_passes(days=410)
    assert retention.prune().payloads > 0
    return gone_on(run)


def test_what_retention_took_is_told_as_that_and_never_as_erased(vendor: Vendor) -> None:
    run = ended(vendor)
    day = pruned(run)
    run.refresh_from_db()
    told = f"The personal data of this run went by the retention policy on {day}."
    assert erasures.note(run) == told
    effect = Effect.objects.filter(run=run).earliest("pk")
    client = Client()
    client.force_login(people.person("rita"))
    addresses = [
        ("run", run.ref),
        ("effect", effect.key),
        ("dossier-effect", effect.key),
        ("dossier-run", run.ref),
    ]
    for name, about in addresses:
        text = client.get(reverse(name, args=[about])).content.decode()
        assert told in text, name
        assert "erased" not in text.partition("<main")[2], name
    assert set(subjects.of_effects([effect.pk]).values()) == {f"(no longer kept since {day})"}


def test_what_no_act_says_to_have_gone_names_neither_an_erasure_nor_the_policy() -> None:
    run = desk.drive(agents.start("Walker"))
    vault.destroy(run)
    run = Run.objects.get(pk=run.pk)
    day = gone_on(run)
    assert erasures.note(run) == (
        f"The personal data of this run is gone since {day}, and nothing in the ledger says why."
    )


def test_what_went_of_a_run_before_its_payloads_is_no_reason_that_they_went(vendor: Vendor) -> None:
    run = ended(vendor)
    desk.time_passes(days=30)
    assert retention.prune().payloads == 0
    assert erasures.note(Run.objects.get(pk=run.pk)) == ""
