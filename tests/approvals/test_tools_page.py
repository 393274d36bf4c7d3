"""The classification table: what a tool has done lately, how it was last proven, and why it is of its class."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.queries import proofs
from durable.models import Effect
from durable.models.fields import Clock
from durable.tools import isolated, tool
from durable.vendor import Call, Receipt
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db


def paid(**columns: Any) -> Effect:
    effect = factories.propose(factories.running(), order="1", amount="12", currency="EUR")
    settled = {"state": "applied", "settled_at": Clock(), **columns}
    Effect.objects.filter(pk=effect.pk).update(**settled)
    return Effect.objects.get(pk=effect.pk)


def row(client: Client, name: str = "pay_out", **query: str) -> dict[str, Any]:
    rows = client.get(reverse("tools"), query).context["tools"]
    return {one["name"]: one for one in rows}[name]


def test_a_tool_is_proven_by_the_newest_effect_of_each_kind(sign_in: SignIn) -> None:
    rita = sign_in(factories.person("rita"))
    assert row(rita)["proofs"] == ()
    paid(receipt_id="po_1", settled_at=Clock() - timedelta(hours=2))
    by_receipt = paid(receipt_id="po_2", settled_at=Clock() - timedelta(hours=1))
    found = paid(receipt_id="po_3", adopted=True)
    undone = paid(receipt_id="po_4", undo_of=by_receipt, settled_at=Clock() - timedelta(minutes=30))
    assert [(proof.words, proof.key) for proof in row(rita)["proofs"]] == [
        ("found by look-up", found.key),
        ("undone", undone.key),
        ("applied", by_receipt.key),
    ]
    page = rita.get(reverse("tools")).content.decode()
    assert reverse("effect", args=[found.key]) in page
    assert row(rita, "post_letter")["proofs"] == ()


def test_figures_are_of_thirty_days_and_undos_are_no_acts(sign_in: SignIn) -> None:
    first = paid(receipt_id="po_1")
    paid(receipt_id="po_2", undo_of=first)
    paid(receipt_id="po_3", recorded_at=Clock() - timedelta(days=31))
    paid(state="rejected")
    paid(state="in doubt", settled_at=None)
    shown = row(sign_in(factories.person("rita")))
    assert (shown["acts"], shown["refused"], shown["doubt"]) == ("1", "1", "1")


def test_more_effects_than_are_looked_at_are_told_as_more(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs, "NEWEST", 2)
    for number in range(3):
        paid(receipt_id=f"po_{number}")
    assert row(sign_in(factories.person("rita")))["acts"] == "2+"


def test_the_reason_of_a_class_stands_beside_it(sign_in: SignIn) -> None:
    page = sign_in(factories.person("rita")).get(reverse("tools")).content.decode()
    assert "people are asked every time" in page
    assert "it is repeated under the same key inside that time" in page


def test_who_is_asked_stands_there_as_the_policy_goes(sign_in: SignIn) -> None:
    rita = sign_in(factories.person("rita"))
    assert row(rita, "post_letter")["policy"] == "A reviewer, every time."
    assert row(rita)["policy"] == (
        "A reviewer, above 100 in its currency, summed over its run for the same order."
    )
    claim = factories.running()
    asked = [
        factories.propose(claim, ordinal=place, order=order, amount=amount, currency="EUR").state == "gated"
        for place, (order, amount) in enumerate(
            (("1", "60"), ("2", "60"), ("1", "60"), ("3", "101")), start=1
        )
    ]
    assert asked == [False, False, True, True]


def test_a_tool_that_acts_once_for_a_thing_says_that_a_second_time_is_asked_about(sign_in: SignIn) -> None:
    with isolated():

        @tool(vendor="test shelf", idempotent_for=timedelta(hours=1), subject="order", once_per=("order",))
        def wrap_up(call: Call, order: str) -> Receipt:
            raise NotImplementedError

        shown = row(sign_in(factories.person("rita")), "wrap_up")
    assert shown["policy"] == "A reviewer, for a second with the same order."


def test_tools_are_filtered_by_class_and_the_chips_count_them(sign_in: SignIn) -> None:
    rita = sign_in(factories.person("rita"))
    page = rita.get(reverse("tools")).context
    counted = {chip["label"]: chip["count"] for chip in page["filters"]}
    assert counted["All"] == len(page["tools"]) == page["total"]
    for chip in page["filters"]:
        assert len(rita.get(f"{reverse('tools')}?{chip['query']}").context["tools"]) == chip["count"]
    assert b"No tool of this class" in rita.get(reverse("tools"), {"class": "\x00nonsense"}).content
