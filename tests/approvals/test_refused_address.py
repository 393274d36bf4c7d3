"""A page that was shown for a refused act stands at the act's address; from there on it works as at its own."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import urljoin

import pytest
from django.test import Client
from django.urls import reverse

from approvals import bulk
from approvals.models import BulkAct
from durable.states import RunState
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_run_list import in_state

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga(sign_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(bulk, "announce", lambda pk: None)
    return sign_in(factories.person("olga"))


def link(page: Any, pattern: str) -> str:
    """The address of a link of a page, as the browser makes it out of where the page stands."""
    found = re.search(pattern, page.content.decode())
    assert found is not None
    return urljoin(page.request["PATH_INFO"], unescape(found[1]))


def test_an_act_that_is_started_twice_leaves_a_page_that_goes_on_asking_how_it_stands(olga: Client) -> None:
    run = in_state(RunState.QUEUED)
    olga.post(reverse("bulk-drafts"), {"act": "holds", "run": run.ref})
    start = reverse("bulk-starts", args=[BulkAct.objects.get().pk])
    assert olga.post(start, {"reason": "x"}).status_code == 303
    refused = olga.post(start, {"reason": "x"})
    poll = link(refused, r'id="bulk" hx-get="([^"]+)"')
    assert refused.status_code == 409
    assert olga.get(poll, headers={"HX-Request": "true"}).status_code == 204


def test_the_pages_of_a_list_that_a_refusal_shows_are_those_of_the_list(olga: Client) -> None:
    for _ in range(52):
        in_state(RunState.QUEUED)
    refused = olga.post(reverse("bulk-drafts"), {"act": "holds", "q": "status:queued"})
    older = link(refused, r'rel="next" href="([^"]+)"')
    assert older.startswith(reverse("runs")) and "q=status%3Aqueued" in older
    assert len(olga.get(older).context["runs"]) == 2


def test_the_address_of_a_refused_decision_leads_to_the_gate_in_a_new_tab(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice = sign_in(factories.person("alice"))
    again = alice.get(reverse("decisions", args=[gate.pk]))
    assert (again.status_code, again["Location"]) == (303, reverse("gate", args=[gate.pk]))
