"""A run's way back as its page tells it: beforehand, under way, and where something of it stayed done."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.queries import compensation
from durable import journal
from durable.models import Effect, LedgerEvent, Run
from durable.states import EventKind
from tests import factories
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(sign_in: SignIn) -> Client:
    return sign_in(factories.person("olga"))


def applied(state: str, count: int = 2) -> tuple[Run, list[Effect]]:
    """A run in this state that has paid out 5, 6, ... in this order; a pay-out has no undo."""
    claim = factories.running()
    found = [
        factories.propose(claim, ordinal=n, order=str(n), amount=str(4 + n), currency="EUR")
        for n in range(1, count + 1)
    ]
    for n, effect in enumerate(found, start=1):
        Effect.objects.filter(pk=effect.pk).update(
            state="applied", receipt_id=f"po_{effect.pk}", applied_no=10 + n
        )
    Run.objects.filter(pk=claim.run_id).update(state=state, lease_until=None)
    return Run.objects.get(pk=claim.run_id), found


def partly() -> tuple[Run, list[Effect]]:
    run, found = applied("partly compensated")
    journal.record(run, EventKind.COMPENSATION_ASKED, actor="olga")
    for effect in found:
        body = {"how": "not undoable"}
        journal.record(run, EventKind.NOT_UNDOABLE, effect_key=effect.key, body=body)
    return run, found


def shown(client: Client, run: Run) -> Any:
    return client.get(reverse("way-back", args=[run.ref])).context


def test_the_preview_lists_the_last_applied_first_with_what_cannot_be_undone(operator: Client) -> None:
    run, (first, second) = applied("completed")
    page = shown(operator, run)
    assert [item["key"] for item in page["items"]] == [second.key, first.key]
    assert page["sums"] == [{"currency": "EUR", "undone": 0, "ahead": 0, "lost": 1100}]
    assert "No undo is declared" in page["items"][0]["note"]
    assert [act["id"] for act in page["acts"]] == ["compensations"]


def test_a_partly_compensated_run_has_an_owner_and_says_what_is_left(operator: Client) -> None:
    run, found = partly()
    page = shown(operator, run)
    assert page["owner"] == "Olga" and [item["left"] for item in page["items"]] == [True, True]
    assert "2 effects still to be seen to" in page["sentence"]
    (row,) = operator.get(reverse("compensation")).context["runs"]
    assert (row["id"], row["left"], row["owner"]) == (run.ref, 2, "Olga") and found


def test_what_was_seen_to_by_hand_is_left_no_more(operator: Client) -> None:
    run, (first, _) = partly()
    closing = next(item for item in shown(operator, run)["items"] if item["key"] == first.key)["close"]
    said = {**closing["hidden"], "reason": "booked back by hand, slip 12"}
    assert operator.post(closing["url"], said).status_code == 303
    items = {item["key"]: item for item in shown(operator, run)["items"]}
    assert not items[first.key]["left"] and "by Olga" in items[first.key]["note"]
    assert operator.get(reverse("compensation")).context["runs"][0]["left"] == 1
    assert operator.post(closing["url"], said).status_code == 409
    assert LedgerEvent.objects.filter(kind="settled").count() == 1


def test_an_auditor_sees_what_is_left_but_closes_nothing(sign_in: SignIn) -> None:
    run, (first, _) = partly()
    rita = sign_in(factories.person("rita"))
    page = rita.get(reverse("way-back", args=[run.ref]))
    assert page.status_code == 200 and "Seen to by hand" not in page.content.decode()
    closing = {"verdict": "acknowledge", "reason": "x"}
    assert rita.post(reverse("verdicts", args=[first.key]), closing).status_code == 403


def test_effects_beyond_those_that_are_listed_are_counted_and_summed_all_the_same(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compensation, "SHOWN", 2)
    run, found = applied("completed", count=5)
    page = shown(operator, run)
    assert [item["key"] for item in page["items"]] == [found[4].key, found[3].key]
    assert page["sums"] == [{"currency": "EUR", "undone": 0, "ahead": 0, "lost": 500 + 600 + 700 + 800 + 900}]
    assert page["more"] == 3 and page["sentence"].endswith("5 can't be undone.")


def test_what_stayed_done_is_counted_however_far_back_it_is_listed(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, (first, _) = partly()
    closing = next(item for item in shown(operator, run)["items"] if item["key"] == first.key)["close"]
    said = {**closing["hidden"], "reason": "booked back by hand, slip 12"}
    assert operator.post(closing["url"], said).status_code == 303
    monkeypatch.setattr(compensation, "SHOWN", 1)
    page = shown(operator, run)
    assert len(page["items"]) == 1 and page["more"] == 1
    assert "0 of 2 undone; 2 stayed done, 1 effect still to be seen to" in page["sentence"]


def test_of_two_undos_of_one_effect_the_newer_counts(operator: Client) -> None:
    run, (first, second) = applied("compensated")
    for effect, states in ((first, ("applied",)), (second, ("withdrawn", "applied"))):
        for link, state in enumerate(states, start=1):
            Effect.objects.create(
                run=run, key=f"{effect.key}:undo~{link}", step=effect.step, visit=1, ordinal=effect.ordinal, link=link,
                undo_of=effect, tool=effect.tool, effect_class="idempotent", digest_asked="0", digest="0",
                payload=effect.payload, payload_asked=effect.payload, vendor=effect.vendor, state=state,
                receipt_id=f"undo_{effect.pk}_{link}" if state == "applied" else "",
            )  # fmt: skip
    page = shown(operator, run)
    assert [item["state"] for item in page["items"]] == ["compensated", "compensated"]
    assert page["sums"] == [{"currency": "EUR", "undone": 1100, "ahead": 0, "lost": 0}]


def test_the_three_lists_are_counted_anew_with_the_rows_that_a_poll_brings(operator: Client) -> None:
    partly()
    listed, htmx = reverse("compensation"), {"HX-Request": "true"}
    seen = operator.get(listed).context["version"]
    assert operator.get(listed, {"seen": seen}, headers=htmx).status_code == 204
    applied("compensating")  # stands in another list than the one that is open
    body = operator.get(listed, {"seen": seen}, headers=htmx).content.decode()
    assert 'id="states" aria-label="By state" hx-swap-oob="true"' in body
    assert "Compensating <span>1</span>" in body and "Partly compensated <span>1</span>" in body
