"""What pages show, and to whom; that looking changes nothing; and that counts agree with lists."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.urls import reverse

from approvals.models import Gate
from approvals.queries import inbox
from durable.models import LedgerEvent
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.world import world

pytestmark = pytest.mark.django_db


def test_the_gate_page_shows_what_will_be_sent_and_masks_what_is_secret(sign_in: SignIn) -> None:
    gate = factories.gate(iban="DE02120300000000202051", note="as agreed")
    page = sign_in(factories.person("alice")).get(reverse("gate", args=[gate.pk])).content.decode()
    for shown in (
        "184.50",
        "8812",
        "as agreed",
        gate.digest,
        "2051 (masked)",
        "an amount above 100 EUR needs a person",
    ):
        assert shown in page, shown
    assert "DE0212030000" not in page


def test_a_signed_in_page_is_kept_by_no_cache(sign_in: SignIn) -> None:
    answer = sign_in(factories.person("alice")).get(reverse("gates"))
    assert "no-store" in answer["Cache-Control"]


def test_somebody_switched_off_is_led_to_the_sign_in(sign_in: SignIn) -> None:
    alice = factories.person("alice")
    client, gate = sign_in(alice), factories.gate()
    User.objects.filter(pk=alice.pk).update(is_active=False)
    before = world()
    for answer in (client.get(reverse("gates")), client.post(reverse("decisions", args=[gate.pk]))):
        assert answer.status_code == 302 and answer["Location"].startswith("/sign-in/")
    assert world() == before


def test_badge_list_and_overview_agree_at_all_times(sign_in: SignIn) -> None:
    olga = sign_in(factories.person("olga"))
    gates = [factories.gate() for _ in range(3)]
    Gate.objects.filter(pk=gates[0].pk).update(state="expired")
    for left in (2, 1, 0):
        page = olga.get(reverse("gates"))
        items = [
            item for group in page.context["nav"] for item in group["items"] if item["url_name"] == "gates"
        ]
        assert page.context["queue"]["total"] == left
        assert items[0]["count"] == str(left)
        assert olga.get("/").context["expiring_total"] == str(left)
        Gate.objects.filter(pk__in=Gate.objects.filter(state="open").values("pk")[:1]).update(
            state="withdrawn"
        )


def test_the_inbox_stands_by_risk_then_by_what_is_due_soonest(sign_in: SignIn) -> None:
    late, soon = factories.gate(), factories.gate()
    Gate.objects.filter(pk=soon.pk).update(decide_by=soon.decide_by - timedelta(hours=5))
    claim = factories.running()
    letter = Gate.objects.get(
        effect=factories.propose(claim, factories.post_letter, to="ann@example.com", text="hello")
    )
    page = sign_in(factories.person("alice")).get(reverse("gates"))
    assert page.context["queue"]["ids"] == [letter.pk, soon.pk, late.pk]


def test_the_ledger_finds_an_effect_by_key_and_by_order_but_stores_no_order(sign_in: SignIn) -> None:
    gate, other = factories.gate(), factories.gate()
    alice = sign_in(factories.person("alice"))
    by_key = alice.get(reverse("ledger"), {"q": gate.effect.key}).context["effects"]
    assert [row["key"] for row in by_key] == [gate.effect.key]
    by_order = alice.get(reverse("ledger"), {"q": " 8812 "}).context["effects"]
    assert {row["key"] for row in by_order} == {gate.effect.key, other.effect.key}
    assert alice.get(reverse("ledger"), {"q": "8813"}).context["effects"] == []


def test_a_poll_of_what_is_unchanged_swaps_nothing(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice = sign_in(factories.person("alice"))
    htmx = {"HX-Request": "true"}
    version = alice.get(reverse("gates")).context["queue"]["version"]
    assert alice.get(reverse("gates"), {"seen": version}, headers=htmx).status_code == 204
    Gate.objects.filter(pk=gate.pk).update(state="withdrawn")
    answer = alice.get(reverse("gates"), {"seen": version}, headers=htmx)
    assert answer.status_code == 200 and b"<html" not in answer.content


def test_refused_attempts_stand_in_the_runs_log(sign_in: SignIn) -> None:
    gate = factories.gate("alice")
    alice = sign_in(factories.person("alice"))
    alice.post(
        reverse("decisions", args=[gate.pk]), {"verdict": "approve", "digest": gate.digest, "round": 1}
    )
    assert LedgerEvent.objects.filter(kind="refused decision").count() == 1
    page = alice.get(reverse("run", args=[gate.effect.run.ref])).content.decode()
    assert "tried to decide and was refused" in page


@pytest.mark.parametrize(("error", "status"), [(OperationalError("away"), 503), (KeyError("a fault"), 500)])
def test_a_page_that_cannot_be_made_says_so_in_the_theme_that_the_person_chose(
    error: Exception, status: int, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise error

    alice = sign_in(factories.person("alice"))
    alice.raise_request_exception = False
    alice.cookies["theme"] = "dark"
    monkeypatch.setattr(inbox, "queue", fails)
    answer = alice.get(reverse("gates"))
    assert answer.status_code == status
    assert '<html lang="en" data-theme="dark">' in answer.content.decode()
