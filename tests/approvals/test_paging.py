"""Pages of a list: nothing skipped, nothing shown twice, while rows arrive."""

from __future__ import annotations

import pytest
from django.urls import reverse

from approvals.models import Gate
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db


def test_pages_of_the_inbox_skip_and_double_nothing_while_gates_arrive(sign_in: SignIn) -> None:
    first = factories.gate()
    many = [factories.gate() for _ in range(59)]
    Gate.objects.all().update(decide_by=first.decide_by)
    alice = sign_in(factories.person("alice"))
    page = alice.get(reverse("gates")).context["queue"]
    seen = list(page["ids"])
    new = factories.gate()
    while page["older"]:
        page = alice.get(reverse("gates"), {"after": page["older"]}).context["queue"]
        seen += page["ids"]
    assert [one for one in seen if one != new.pk] == [first.pk, *(gate.pk for gate in many)]


def test_pages_of_the_ledger_skip_and_double_nothing_while_effects_arrive(sign_in: SignIn) -> None:
    claim = factories.running()
    keys = [
        factories.propose(claim, ordinal=n, order=str(n), amount="1", currency="EUR").key
        for n in range(1, 121)
    ]
    alice = sign_in(factories.person("alice"))
    page = alice.get(reverse("ledger"))
    seen = [row["key"] for row in page.context["effects"]]
    for n in range(121, 131):
        factories.propose(claim, ordinal=n, order=str(n), amount="1", currency="EUR")
    while page.context["page"]["older"]:
        page = alice.get(reverse("ledger"), {"after": page.context["page"]["older"]})
        seen += [row["key"] for row in page.context["effects"]]
    assert seen == keys[::-1]
    back = alice.get(reverse("ledger"), {"before": page.context["page"]["newer"]})
    assert [row["key"] for row in back.context["effects"]] == keys[::-1][50:100]
