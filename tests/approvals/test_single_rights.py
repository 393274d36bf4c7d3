"""Roles of an installation's own: each right lets people see what it says, and what is missing is named."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from approvals.capabilities import Capability
from durable.models import Effect, Run
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_compensation_page import partly
from tests.logged import told

pytestmark = pytest.mark.django_db

LEDGER = "It needs the right to read the ledger."


def having(sign_in: SignIn, *rights: Capability) -> Client:
    """Somebody who has these rights, and no role that Interlock knows."""
    person = factories.person("charlie")
    codenames = [right.value for right in rights]
    person.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return sign_in(person)


def test_a_list_behind_a_number_that_somebody_may_not_see_names_the_right(sign_in: SignIn) -> None:
    charlie = having(sign_in, Capability.SEE_GATES)
    answer = charlie.get(reverse("behind", args=["moved"]))
    assert answer.status_code == 403 and LEDGER in answer.content.decode()
    assert charlie.get(reverse("behind", args=["expiring"])).status_code == 200


@pytest.mark.parametrize(("of", "missing"), [("log", Capability.SEE_LOG), ("ledger", Capability.SEE_LEDGER)])
def test_an_export_that_is_refused_is_logged_with_the_right_that_is_missing(
    of: str, missing: Capability, sign_in: SignIn
) -> None:
    charlie = having(sign_in, Capability.EXPORT)
    answer = charlie.post(reverse("export-requests"), {"of": of, "form": "csv"})
    assert answer.status_code == 403
    (refused,) = told("refused")
    assert refused.body["right"] == missing.value


def test_who_sees_runs_and_not_the_ledger_sees_nothing_of_effects_on_a_runs_pages(sign_in: SignIn) -> None:
    run, effects = partly()
    charlie = having(sign_in, Capability.SEE_RUNS)
    answer = charlie.get(reverse("run", args=[run.ref]))
    page = answer.content.decode()
    assert answer.status_code == 200 and "they need the right to read the ledger" in page
    for effect in Effect.objects.filter(run=run):
        assert effect.key not in page and effect.receipt_id not in page
    assert "pay_out" not in page and "compensation asked" not in page
    for name in ("log", "way-back", "dossier-run"):
        address = reverse(name, args=[run.ref])
        refused = charlie.get(address)
        assert refused.status_code == 403 and LEDGER in refused.content.decode()
        assert f'"{address}"' not in page
    assert len(effects) == 2
    listed = charlie.get(reverse("compensation")).content.decode()
    assert f'href="{reverse("run", args=[run.ref])}"' in listed
    assert reverse("way-back", args=[run.ref]) not in listed


def test_who_may_not_see_gates_is_led_to_none_by_a_runs_page(sign_in: SignIn) -> None:
    gate = factories.gate()
    charlie = having(sign_in, Capability.SEE_RUNS)
    page = charlie.get(reverse("run", args=[gate.effect.run.ref]))
    assert page.context["link"] is None


def test_a_runs_page_shows_its_effects_and_its_log_to_who_may_read_the_ledger(sign_in: SignIn) -> None:
    run, _ = partly()
    charlie = having(sign_in, Capability.SEE_RUNS, Capability.SEE_LEDGER)
    page = charlie.get(reverse("run", args=[Run.objects.get(pk=run.pk).ref])).content.decode()
    for effect in Effect.objects.filter(run=run):
        assert effect.key in page and effect.receipt_id in page
    assert reverse("log", args=[run.ref]) in page and "need the right" not in page
