"""The pages of exports, and what of them stands in the log."""

from __future__ import annotations

import hashlib
import json

import pytest
from django.test import Client
from django.urls import reverse

from approvals.exports import orders
from approvals.models import Export
from durable.models import LedgerEvent
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_exports import folder

__all__ = ["folder"]

pytestmark = pytest.mark.django_db


STATUS = {"nobody": 302, "rita": 200, "ada": 200}
WHO = [(who, STATUS.get(who, 403)) for who in (*factories.ROLES, "nobody")]


@pytest.mark.parametrize(("who", "status"), WHO)
def test_the_pages_are_for_those_who_may_take_files(who: str, status: int, sign_in: SignIn) -> None:
    client = Client() if who == "nobody" else sign_in(factories.person(who))
    for address in (reverse("exports"), reverse("export"), f"{reverse('export')}?of=log"):
        assert client.get(address).status_code == status
    ledger = client.get(reverse("ledger")).content.decode()
    assert (f'href="{reverse("export")}?of=ledger"' in ledger) is (status == 200)


def test_the_page_says_first_how_many_rows_it_will_be_and_refuses_what_it_cannot_answer(
    sign_in: SignIn,
) -> None:
    rita = factories.person("rita")
    factories.gate()
    factories.gate(amount="120")
    client = sign_in(rita)
    page = client.get(reverse("export"), {"of": "ledger", "q": "amount:>=150"}).content.decode()
    assert "Make it: 1 row<" in page and "amount:&gt;=150" in page
    assert client.get(reverse("export"), {"of": "ledger", "q": "currency:XYZ"}).status_code == 422
    assert client.get(reverse("export"), {"of": "run", "q": "run-none"}).status_code == 200
    assert client.get(reverse("export"), {"of": "effect", "q": "run-none:pay"}).status_code == 404
    posted = client.post(reverse("export-requests"), {"of": "ledger", "q": "currency:XYZ", "form": "csv"})
    assert posted.status_code == 422 and not Export.objects.exists()
    for n in range(orders.AT_ONCE + 1):
        posted = client.post(reverse("export-requests"), {"of": "ledger", "q": f"order:88{n}", "form": "csv"})
    assert posted.status_code == 409 and Export.objects.count() == orders.AT_ONCE
    bodies = LedgerEvent.objects.filter(kind="export asked").values_list("body", flat=True)
    assert len(bodies) == orders.AT_ONCE and not any("order:88" in body for body in bodies)


def test_a_dossier_that_is_taken_as_a_file_stands_in_the_log(sign_in: SignIn) -> None:
    gate = factories.gate()
    rita = factories.person("rita")
    data = sign_in(rita).post(reverse("dossier-effect-files", args=[gate.effect.key])).content
    event = LedgerEvent.objects.get(kind="dossier taken")
    assert (event.actor, event.effect_key) == ("rita", gate.effect.key)
    assert json.loads(event.body)["sha256"] == hashlib.sha256(data).hexdigest()
