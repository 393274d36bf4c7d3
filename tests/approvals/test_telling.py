"""How pages tell things: who acted, where a run stopped, what a round asked about, what a receipt is taken from."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.models import Decision, Gate
from approvals.queries import actors, pages
from approvals.queries import run as one_run
from approvals.states import Verdict
from approvals.templatetags.interlock import span
from durable import waits
from durable.models import Effect, LedgerEvent, Run, Wait
from durable.states import Attention, EffectState
from durable.transitions import lock_run
from tests import factories
from tests.approvals.answering import ASK_BACK, answer, edited
from tests.approvals.conftest import SignIn
from tests.approvals.test_verdicts import say

pytestmark = pytest.mark.django_db


def test_actors_are_called_by_name() -> None:
    factories.person("olga")
    assert actors.names(["olga", "vm:15480", "interlock", "shop"]) == {
        "olga": "Olga",
        "vm:15480": "worker vm:15480",
        "interlock": "Interlock",
        "shop": "shop",
    }


def test_nobody_is_looked_up_where_only_machines_acted() -> None:
    with CaptureQueriesContext(connection) as queries:
        actors.names(["vm:15480", "interlock"])
    assert len(queries) == 0


def test_counts_of_several_lists_are_those_of_each() -> None:
    for _ in range(3):
        factories.gate()
    lists: list[Any] = [Gate.objects.all(), Gate.objects.none(), Run.objects.filter(state="suspended")]
    with CaptureQueriesContext(connection) as queries:
        assert pages.counts(lists) == [3, 0, 3]
    assert len(queries) == 1
    assert pages.counts([]) == []


@pytest.mark.parametrize(
    ("state", "step", "notes"),
    [
        ("suspended", "pay", {"triage": "not taken so far", "pay": "suspended", "tell": "not yet"}),
        ("completed", "", {"triage": "not taken", "pay": "not taken", "tell": "not taken"}),
        ("failed", "pay", {"triage": "not taken", "pay": "stopped here", "tell": "not taken"}),
    ],
)
def test_the_plan_says_not_yet_only_of_what_may_still_come(
    state: str, step: str, notes: dict[str, str], settings: Any
) -> None:
    settings.INTERLOCK_AGENTS = ("durable.agents.refund_desk",)
    claim = factories.running(agent="RefundDesk")
    Run.objects.filter(pk=claim.run_id).update(state=state, step=step, lease_until=None)
    run = Run.objects.select_related("budget", "parent").get(pk=claim.run_id)
    shown = {one["name"]: one["note"] for one in one_run.detail(one_run.read(run))["plan"]}
    assert {name: shown[name] for name in notes} == notes


def test_an_older_round_shows_its_own_amount_and_a_newer_one_what_changed(sign_in: SignIn) -> None:
    alice, gate = factories.person("alice"), factories.gate()
    newer = edited(gate, alice)
    bob = sign_in(factories.person("bob"))
    older_page = bob.get(reverse("gate", args=[gate.pk])).context
    assert older_page["gate"]["title"] == "Pay out 184.50 EUR"
    assert older_page["gate"]["payload_title"] == "What this round asked about"
    newer_page = bob.get(reverse("gate", args=[newer.pk])).context
    assert newer_page["gate"]["title"] == "Pay out 120.00 EUR"
    changes = {one.name: (one.shown, one.current) for one in newer_page["changes"]}
    assert changes["amount"] == ("184.50", "120.00")
    assert [(one["who"], one["said"]) for one in newer_page["rounds"]] == [("Alice", "partial")]


def test_a_question_is_shown_with_who_asked_it(sign_in: SignIn) -> None:
    alice, gate = factories.person("alice"), factories.gate()
    answer(alice, gate, ASK_BACK, "Which lamp?")
    shown = sign_in(factories.person("olga")).get(reverse("gate", args=[gate.pk])).context
    assert [(one["who"], one["said"]) for one in shown["rounds"]] == [("Alice", "Which lamp?")]


def test_an_approval_of_what_moves_no_money_names_the_act(sign_in: SignIn) -> None:
    claim = factories.running()
    effect = factories.propose(claim, factories.post_letter, to="ada@example.org", text="Dear Ada")
    factories.suspend(claim)
    page = sign_in(factories.person("alice")).get(reverse("gate", args=[Gate.objects.get(effect=effect).pk]))
    assert page.context["approve"]["label"] == "Approve: post letter"


def settled_with_question(reason: Attention) -> Effect:
    """An effect that the vendor refused, and about which a person must look all the same."""
    claim = factories.running()
    effect = factories.propose(claim, order="8812", amount="25", currency="EUR")
    Effect.objects.filter(pk=effect.pk).update(state=EffectState.FAILED.value, open_sends=0)
    effect.refresh_from_db()
    with transaction.atomic():
        waits.open_attention(lock_run(claim.run_ref), reason, "Look at this.", effect=effect)
    factories.suspend(claim)
    return effect


def test_a_question_about_a_settled_effect_can_be_closed(sign_in: SignIn) -> None:
    effect, olga = settled_with_question(Attention.CONFLICT), sign_in(factories.person("olga"))
    page = olga.get(reverse("effect", args=[effect.key]))
    assert [act["label"] for act in page.context["acts"]] == ["Close the question", "Let it be asked again"]
    assert say(olga, effect, "acknowledge").status_code == 303
    assert Wait.objects.get(effect=effect).state == "resolved"
    assert LedgerEvent.objects.filter(effect_key=effect.key, kind="settled", actor="olga").exists()


def test_a_refused_effect_can_be_asked_for_again(sign_in: SignIn) -> None:
    effect, olga = settled_with_question(Attention.CONFLICT), sign_in(factories.person("olga"))
    assert say(olga, effect, "ask again").status_code == 303
    effect.refresh_from_db()
    assert effect.state == "withdrawn"


@pytest.mark.parametrize("verdict", ["acknowledge", "ask again"])
def test_a_question_that_came_after_the_page_was_made_is_not_closed_by_it(
    verdict: str, sign_in: SignIn
) -> None:
    effect, olga = settled_with_question(Attention.CONFLICT), sign_in(factories.person("olga"))
    (act, *_) = olga.get(reverse("effect", args=[effect.key])).context["acts"]
    with transaction.atomic():
        alarm = {"alarm": True}
        waits.open_attention(
            lock_run(effect.run.ref), Attention.CONFLICT, "A second receipt.", effect=effect, evidence=alarm
        )
    answer = say(olga, effect, verdict, seen=act["hidden"]["seen"])
    assert answer.status_code == 409 and "no longer stands" in answer.context["problem"]
    assert set(Wait.objects.filter(effect=effect).values_list("state", flat=True)) == {"open"}
    assert say(olga, effect, verdict, seen="").status_code == 422


@pytest.mark.parametrize("who", ["alice", "rita"])
def test_who_may_not_settle_is_offered_neither(who: str, sign_in: SignIn) -> None:
    effect = settled_with_question(Attention.CONFLICT)
    page = sign_in(factories.person(who)).get(reverse("effect", args=[effect.key]))
    assert page.context["acts"] == []


def test_two_receipts_are_no_proof(sign_in: SignIn) -> None:
    claim = factories.running()
    effect = factories.propose(claim, order="8812", amount="25", currency="EUR")
    Effect.objects.filter(pk=effect.pk).update(state=EffectState.IN_DOUBT.value)
    factories.suspend(claim)
    olga = sign_in(factories.person("olga"))
    page = say(olga, effect, "happened", receipt="po_1", candidate="po_2")
    assert page.status_code == 422
    assert "you chose po_2 and typed po_1" in page.content.decode()
    effect.refresh_from_db()
    assert effect.state == EffectState.IN_DOUBT


def test_the_median_time_to_a_decision_is_told_by_tool(sign_in: SignIn) -> None:
    alice = factories.person("alice")
    for _ in range(3):
        answer(alice, factories.gate(), Verdict.APPROVE)
    page = sign_in(alice).get(reverse("tools"))
    told = {tool["name"]: tool["decide"] for tool in page.context["tools"]}
    took = [one.at - one.gate.opened_at for one in Decision.objects.select_related("gate")]
    assert (told["pay_out"], told["post_letter"]) == (span(sorted(took)[1]), "")
