"""A gate under a stop order: whoever is asked is told that a yes will wait, as long as the order stands."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Gate
from durable import stops
from durable.models import Stop
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db(transaction=True)
WHY = {"actor": "olga", "reason": "the vendor pays twice"}


@pytest.fixture
def alice(sign_in: SignIn) -> Client:
    return sign_in(factories.person("alice"))


def told(client: Client, gate: Gate) -> str:
    page = client.get(reverse("gate", args=[gate.pk]))
    stopped: str = page.context["stopped"]
    assert ("What is approved meanwhile waits" in page.content.decode()) is bool(stopped)
    return stopped


@pytest.mark.parametrize("scope", ["all", "agent", "tool"])
def test_a_gate_says_by_whose_order_nothing_of_it_leaves_until_that_is_lifted(
    scope: str, alice: Client
) -> None:
    gate = factories.gate()
    name = {"all": "", "agent": gate.effect.run.agent, "tool": gate.effect.tool}[scope]
    assert told(alice, gate) == ""
    order = stops.order(scope, name, **WHY)
    said = told(alice, gate)
    assert "by order of “olga”: “the vendor pays twice”" in said and (
        f"{scope} “{name}”" in said or scope == "all"
    )
    stops.lift(order.pk, actor="olga", reason="mended")
    assert told(alice, gate) == ""


def test_an_order_about_something_else_is_not_told(alice: Client) -> None:
    gate = factories.gate()
    Stop.objects.create(scope="tool", name=gate.effect.run.agent, **WHY)
    Stop.objects.create(scope="agent", name=gate.effect.tool, **WHY)
    assert told(alice, gate) == ""
