"""The inbox and its gates: what comes next, what an open page is told, facts as they are now, and what came before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals import payload
from approvals.models import Gate
from approvals.queries import earlier, pages
from durable import present
from durable.clock import db_now
from durable.models import Effect
from durable.tools import tool
from durable.vendor import Call, Receipt
from tests import factories
from tests.approvals.answering import ASK_BACK, answer, past
from tests.approvals.conftest import SignIn

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
#: What the vendor of `wire_money` says now, and how often it was asked.
WORLD: dict[str, Any] = {"facts": {}, "asked": 0}


@tool(idempotent_for=timedelta(hours=24), vendor="test bank", money="amount", subject="order")
def wire_money(call: Call, order: str, amount: Decimal, currency: str) -> Receipt:
    """A pay-out that rests on facts; nothing here ever sends it."""
    raise NotImplementedError


@wire_money.recheck
def wire_facts(call: Call) -> Mapping[str, str]:
    """What the test has put down, or a vendor that is away."""
    WORLD["asked"] += 1
    assert call.timeout == present.PATIENCE
    if WORLD["facts"] is None:
        raise TimeoutError("the vendor does not answer")
    return dict(WORLD["facts"])


@pytest.fixture
def rests_on_facts() -> Iterator[Gate]:
    """A gate over an effect whose facts were read when it was drafted."""
    WORLD.update(facts={"left": "200.00", "status": "open"}, asked=0)
    claim = factories.running()
    effect = factories.propose(
        claim, wire_money, order="8812", amount="150", currency="EUR",
        facts={"left": "200.00", "status": "open"},
    )  # fmt: skip
    factories.suspend(claim)
    yield Gate.objects.select_related("effect__run").get(effect=effect)


def post(client: Client, gate: Gate, verdict: str = "approve", **more: Any) -> Any:
    given = {"verdict": verdict, "digest": gate.digest, "round": gate.round, **more}
    return client.post(reverse("decisions", args=[gate.pk]), given)


def seen(client: Client, gate: Gate) -> str:
    return str(client.get(reverse("gate", args=[gate.pk])).context["seen"])


def poll(client: Client, gate: Gate, base: str) -> Any:
    return client.get(reverse("gate", args=[gate.pk]), {"from": base, "seen": base}, headers=HTMX)


def test_a_decision_leads_to_the_next_gate_that_waits_and_at_last_to_the_inbox(sign_in: SignIn) -> None:
    first, second, third = (factories.gate() for _ in range(3))
    alice = sign_in(factories.person("alice"))
    answered = post(alice, third)
    assert (answered.status_code, answered["Location"]) == (303, reverse("gate", args=[first.pk]))
    page = alice.get(answered["Location"])
    assert "Decided: approved, Pay out 184.50 EUR." in page.content.decode()
    assert page.context["position"] == "1 of 2"
    assert post(alice, first, "reject", reason="no")["Location"] == reverse("gate", args=[second.pk])
    assert post(alice, second)["Location"] == reverse("gates")


def test_what_was_asked_back_is_not_what_comes_next(sign_in: SignIn) -> None:
    alice = factories.person("alice")
    first, asked, last = (factories.gate() for _ in range(3))
    answer(alice, asked, ASK_BACK)
    assert post(sign_in(alice), first)["Location"] == reverse("gate", args=[last.pk])


def test_the_inbox_opens_its_first_gate_beside_the_list(sign_in: SignIn) -> None:
    alice = sign_in(factories.person("alice"))
    assert "gate" not in alice.get(reverse("gates")).context
    first, _ = factories.gate(), factories.gate()
    page = alice.get(reverse("gates"))
    assert page.context["gate"]["id"] == first.pk
    assert "Approve 184.50 EUR" in page.content.decode()


def test_a_gate_behind_the_first_page_stands_at_the_head_of_its_own(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE", 2)
    gates = [factories.gate() for _ in range(4)]
    queue = sign_in(factories.person("alice")).get(reverse("gate", args=[gates[2].pk])).context["queue"]
    assert (queue["ids"], queue["total"]) == ([gates[2].pk, gates[3].pk], 4)


def test_a_decided_gate_leads_on_from_where_it_stood(sign_in: SignIn) -> None:
    before, gate, behind = (factories.gate() for _ in range(3))
    alice = factories.person("alice")
    answer(alice, gate)
    shown = sign_in(alice).get(reverse("gate", args=[gate.pk])).context
    assert (shown["previous_id"], shown["next_id"]) == (before.pk, behind.pk)
    assert shown["position"] == "2 wait"


def test_an_open_page_that_nothing_happens_to_costs_two_queries_besides_the_sign_in(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice = sign_in(factories.person("alice"))
    base = seen(alice, gate)
    with CaptureQueriesContext(connection) as queries:
        assert poll(alice, gate, base).status_code == 204
    assert len(queries) == 5  # session, person and rights come first


def test_an_open_page_tells_what_arrived_and_what_went(sign_in: SignIn) -> None:
    gate, other = factories.gate(), factories.gate()
    alice = sign_in(factories.person("alice"))
    base = seen(alice, gate)
    for _ in range(2):
        factories.gate()
    told = poll(alice, gate, base)
    assert "2 new: show them" in told.content.decode() and 'id="acts"' not in told.content.decode()
    Gate.objects.filter(pk=other.pk).update(state="withdrawn")
    assert "2 new, 1 answered or over" in poll(alice, gate, base).content.decode()
    newest = told.context["seen"]
    again = alice.get(reverse("gate", args=[gate.pk]), {"from": base, "seen": newest}, headers=HTMX)
    assert again.status_code == 200


def test_an_open_page_loses_its_form_once_somebody_else_has_decided(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice = sign_in(factories.person("alice"))
    base = seen(alice, gate)
    answer(factories.person("bob"), gate)
    told = poll(alice, gate, base).content.decode()
    assert 'id="acts"' in told and "<b><bdi>Approved by Bob</bdi></b>" in told
    assert "<form" not in told


def test_an_open_page_loses_its_form_once_its_time_is_over(sign_in: SignIn) -> None:
    gate = factories.gate()
    alice = sign_in(factories.person("alice"))
    base = seen(alice, gate)
    past(gate)
    assert "Too late to decide" in poll(alice, gate, base).content.decode()


@pytest.mark.parametrize("nonsense", ["", "x", "1-2", "1-2-x", "9" * 40 + "-1-1-open", "\x00"])
def test_a_poll_with_a_version_of_nothing_is_answered_all_the_same(nonsense: str, sign_in: SignIn) -> None:
    gate = factories.gate()
    assert poll(sign_in(factories.person("alice")), gate, nonsense).status_code == 200


def test_facts_are_shown_then_and_now_when_they_are_asked_for_and_by_no_poll(
    rests_on_facts: Gate, sign_in: SignIn
) -> None:
    alice = sign_in(factories.person("alice"))
    base = seen(alice, rests_on_facts)
    poll(alice, rests_on_facts, base)
    poll(alice, rests_on_facts, "old")
    assert WORLD["asked"] == 0
    WORLD["facts"] = {"left": "12.90", "status": "open"}
    address = reverse("facts", args=[rests_on_facts.pk])
    fragment = alice.get(address, headers=HTMX)
    assert "<html" not in fragment.content.decode() and "1 fact has changed" in fragment.content.decode()
    page = alice.get(address).context
    assert [(one["name"], one["then"], one["now"], one["changed"]) for one in page["facts"]] == [
        ("left", "200.00", "12.90", True),
        ("status", "open", "open", False),
    ]


def test_facts_that_cannot_be_read_leave_the_page_whole(rests_on_facts: Gate, sign_in: SignIn) -> None:
    WORLD["facts"] = None
    page = sign_in(factories.person("alice")).get(reverse("facts", args=[rests_on_facts.pk]))
    assert page.status_code == 200 and "can&#x27;t be read now" in page.content.decode()
    assert page.context["approve"] is not None


def test_nobody_asks_the_vendor_about_a_gate_that_is_over(rests_on_facts: Gate, sign_in: SignIn) -> None:
    answer(factories.person("bob"), rests_on_facts)
    sign_in(factories.person("alice")).get(reverse("facts", args=[rests_on_facts.pk]))
    assert WORLD["asked"] == 0


def test_facts_are_never_read_within_a_transaction(rests_on_facts: Gate) -> None:
    with transaction.atomic(), pytest.raises(RuntimeError, match="a transaction is open"):
        present.facts(rests_on_facts.effect)
    assert WORLD["asked"] == 0


def test_what_was_moved_before_is_summed_and_all_of_it_is_one_link_away(sign_in: SignIn) -> None:
    paid, refused, gate = (factories.gate(amount=amount) for amount in ("150", "120", "184.50"))
    Effect.objects.filter(pk=paid.effect_id).update(state="applied")
    Effect.objects.filter(pk=refused.effect_id).update(state="rejected")
    page = sign_in(factories.person("alice")).get(reverse("gate", args=[gate.pk]))
    history = page.context["history"]
    assert history["title"] == "Besides this, for order 8812"
    assert history["words"] == "150.00 EUR moved; 1 of 2 applied."
    assert [link["href"] for link in history["links"]] == [f"{reverse('ledger')}?q=8812"]


def test_the_link_to_all_that_was_moved_before_is_understood_whatever_the_name(sign_in: SignIn) -> None:
    factories.gate(order="shop:8812")
    gate = factories.gate(order="shop:8812")
    alice = sign_in(factories.person("alice"))
    (link,) = alice.get(reverse("gate", args=[gate.pk])).context["history"]["links"]
    ledger = alice.get(link["href"]).context
    assert ledger["problems"] == [] and ledger["page"]["total"] == "2"


@pytest.mark.parametrize(
    ("now", "says"),
    [
        ({"state": "in doubt"}, "150.00 EUR may have moved; 0 of 1 applied, 1 not known yet."),
        (
            {"state": "pending", "open_sends": 1},
            "150.00 EUR may have moved; 0 of 1 applied, 1 not known yet.",
        ),
        ({"state": "pending", "open_sends": 0}, "No money moved; 0 of 1 applied."),
        ({"state": "failed"}, "No money moved; 0 of 1 applied."),
    ],
)
def test_that_no_money_moved_is_said_only_where_it_is_known(
    now: dict[str, Any], says: str, sign_in: SignIn
) -> None:
    other, gate = factories.gate(amount="150"), factories.gate(amount="184.50")
    Effect.objects.filter(pk=other.effect_id).update(sends=1, first_sent_at=db_now(), **now)
    page = sign_in(factories.person("alice")).get(reverse("gate", args=[gate.pk]))
    assert page.context["history"]["words"] == says


def test_money_whose_undo_is_in_doubt_may_have_been_given_back(sign_in: SignIn) -> None:
    paid, undo, gate = (factories.gate(amount=amount) for amount in ("150", "150", "184.50"))
    Effect.objects.filter(pk=paid.effect_id).update(state="applied")
    Effect.objects.filter(pk=undo.effect_id).update(state="in doubt", undo_of=paid.effect_id)
    page = sign_in(factories.person("alice")).get(reverse("gate", args=[gate.pk]))
    words = "150.00 EUR moved, 150.00 EUR may have been given back; 1 of 2 applied, 1 not known yet."
    assert page.context["history"]["words"] == words


def test_money_that_was_given_back_is_not_money_that_was_moved() -> None:
    row = {"id": 1, "state": "applied", "amount_minor": 500, "currency": "EUR", "undo_of_id": None}
    other = row | {"id": 2, "currency": "JPY"}
    undo = row | {"id": 3, "undo_of_id": 1}
    assert earlier.moved([row, other, undo]) == {"JPY": 500}


def test_a_long_payload_is_folded_where_it_can_be_approved_and_a_short_one_is_not(sign_in: SignIn) -> None:
    short, long = factories.gate(note="as agreed"), factories.gate(note="x" * 5_000)
    alice, rita = sign_in(factories.person("alice")), sign_in(factories.person("rita"))

    def folds(client: Client, gate: Gate) -> bool:
        return 'class="rest"' in client.get(reverse("gate", args=[gate.pk])).content.decode()

    assert (folds(alice, short), folds(alice, long), folds(rita, long)) == (False, True, False)


def test_a_folded_payload_loses_no_line() -> None:
    shown = payload.read("[" + ",".join(str(number) for number in range(500)) + "]")
    assert (len(shown.head), shown.head + shown.rest) == (payload.SHOWN_LINES, shown.lines)
