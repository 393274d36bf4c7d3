"""The sentences and parts of single pages, for every state in which a run, a gate or an effect may stand."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.decisions import Answer, Circumstances, decide
from approvals.models import Gate
from approvals.queries import evidence, words
from approvals.states import Verdict
from durable import answers, doubts, restoring, vault, waits
from durable.clock import db_now
from durable.models import Effect, Wait
from durable.states import Attention, RunState, WaitKind
from durable.transitions import lock_run
from durable.waits import WaitSpec, open_wait
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_verdicts import CANDIDATE, doubtful
from tests.vendors import Vendor

pytestmark = pytest.mark.django_db

HERE = Circumstances(ip="", browser="", authenticated="session")


def run_page(sign_in: SignIn, ref: str) -> Any:
    return sign_in(factories.person("olga")).get(reverse("run", args=[ref])).context


def test_a_run_at_a_gate_says_so_and_leads_there(sign_in: SignIn) -> None:
    gate = factories.gate()
    shown = run_page(sign_in, gate.effect.run.ref)
    assert (shown["run"]["wait"], shown["run"]["why"]) == (
        "gate",
        "It waits for people's answer: Pay out 184.50 EUR.",
    )
    assert shown["link"]["href"] == reverse("gate", args=[gate.pk])


def test_a_stuck_run_shows_its_reason_before_anything_else(sign_in: SignIn) -> None:
    gate = factories.gate()
    with transaction.atomic():
        waits.open_attention(
            lock_run(gate.effect.run.ref), Attention.CODE_MISSING, "There is no agent refund_desk."
        )
    shown = run_page(sign_in, gate.effect.run.ref)
    assert (shown["run"]["wait"], shown["run"]["why"]) == ("code missing", "There is no agent refund_desk.")


@pytest.mark.parametrize(
    ("kind", "name", "sentence"),
    [
        (WaitKind.TIMER, "sleep", "It sleeps until its timer is due."),
        (WaitKind.EVENT, "parcel.returned", "It waits for the event “parcel.returned”."),
    ],
)
def test_timers_and_events_are_named(kind: WaitKind, name: str, sentence: str, sign_in: SignIn) -> None:
    claim = factories.running()
    with transaction.atomic():
        open_wait(lock_run(claim.run_ref), WaitSpec(kind, name, waits_for="somebody"))
    run = factories.suspend(claim)
    assert run_page(sign_in, run.ref)["run"]["why"] == sentence


def test_an_approved_run_says_that_it_waits_to_resume(sign_in: SignIn) -> None:
    gate = factories.gate()
    decide(factories.person("alice"), gate.pk, Answer(Verdict.APPROVE, gate.digest, 1), HERE)
    assert run_page(sign_in, gate.effect.run.ref)["run"]["why"] == "Approved, waiting to resume."


@pytest.mark.parametrize("state", list(RunState))
def test_every_state_of_a_run_has_a_sentence(state: RunState) -> None:
    row = {"state": state.value, "step": "pay", "attempt": 2, "error": ""}
    assert words.why(row, [], approved=False).endswith(".")


@pytest.mark.parametrize(
    ("how", "verb", "used"),
    [
        ("approve", "Approved", "Approved, waiting to resume."),
        ("reject", "Rejected", "It was not executed."),
        ("edit", "Edited", "The edited payload is asked about in the next round."),
        ("expire", "Nobody decided in time: it expired", "It was not executed."),
        ("supersede", "Approved", "Not used: the proposal changed."),
    ],
)
def test_a_closed_gate_says_who_ended_it_and_what_came_of_it(
    how: str, verb: str, used: str, sign_in: SignIn
) -> None:
    alice, gate = factories.person("alice"), factories.gate()
    if how == "expire":
        with transaction.atomic():
            answers.expire(answers.lock(gate.effect.run.ref, gate.wait_id))
    else:
        verdict = Verdict.APPROVE if how == "supersede" else Verdict(how)
        args = {"order": "8812", "amount": "120", "currency": "EUR"}
        decide(
            alice, gate.pk, Answer(verdict, gate.digest, 1, "because", args if how == "edit" else None), HERE
        )
    if how == "supersede":
        Gate.objects.filter(pk=gate.pk).update(state="superseded")
    decision = sign_in(factories.person("bob")).get(reverse("gate", args=[gate.pk])).context["decision"]
    assert (decision["verb"], decision["used"]) == (verb, used)
    assert decision["who"] == ("" if how == "expire" else "Alice")


def test_a_gate_shows_money_history_and_who_may_answer(sign_in: SignIn) -> None:
    earlier, gate = factories.gate(amount="150"), factories.gate()
    factories.person("bob")
    shown = sign_in(factories.person("alice")).get(reverse("gate", args=[gate.pk])).context
    assert shown["budget"]["reserved"] == 18_450
    assert [row["key"] for row in shown["history"]["rows"]] == [earlier.effect.key]
    assert [(one["name"], one["state"]) for one in shown["people"]] == [("Alice", "open"), ("Bob", "open")]


def test_what_is_no_longer_kept_is_not_shown_and_breaks_no_page(sign_in: SignIn) -> None:
    gate = factories.gate(note="private")
    vault.destroy(gate.effect.run)
    olga = sign_in(factories.person("olga"))
    for name, argument in (("gate", gate.pk), ("run", gate.effect.run.ref), ("effect", gate.effect.key)):
        page = olga.get(reverse(name, args=[argument]))
        assert page.status_code == 200 and "private" not in page.content.decode()
    assert "(no longer kept)" in olga.get(reverse("gate", args=[gate.pk])).content.decode()


@pytest.mark.parametrize(
    ("bad", "row", "says"),
    [
        ({"at": "2026-11-24T16:02:00"}, "Made", "2026-11-24T16:02:00, without a zone"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "Made", "not shown"),
        ({"at": "yesterday"}, "Made", "not shown"),
        ({"facts": ["succeeded"]}, "Status", "not shown"),
        ({"currency": ["EUR"]}, "Amount", "25.00 ['EUR']"),
    ],
)
@pytest.mark.parametrize("sent", [True, False])
def test_a_candidate_that_is_not_as_it_should_be_breaks_no_page(
    sent: bool, bad: dict[str, Any], row: str, says: str, sign_in: SignIn
) -> None:
    effect = doubtful()
    asked = doubts.question(effect)
    assert asked is not None
    Wait.objects.filter(pk=asked.pk).update(detail={**asked.detail, "candidates": [{**CANDIDATE, **bad}]})
    forgotten = {"sends": 0, "open_sends": 0, "first_sent_at": None, "forgotten_since": db_now()}
    Effect.objects.filter(pk=effect.pk).update(**({"first_sent_at": db_now()} if sent else forgotten))
    page = sign_in(factories.person("olga")).get(reverse("effect", args=[effect.key]))
    shown = {one["name"]: one["cells"][0]["text"] for one in page.context["evidence"]["rows"]}
    assert page.status_code == 200 and shown[row].startswith(says)


def test_evidence_stands_line_by_line_beside_what_was_sent() -> None:
    effect = factories.gate().effect
    candidates = [
        {"id": "re_1", "amount": "184.5", "currency": "EUR", "key": effect.key, "target": "ch_1"},
        {"id": "re_2", "amount": "18.45", "currency": "EUR", "key": None, "target": None},
    ]
    doubt = Wait(detail={"sentence": "Two candidates.", "candidates": candidates})
    shown = evidence.side_by_side(effect, doubt)
    assert [column["id"] for column in shown["columns"]] == ["re_1", "re_2"]
    fits = {row["name"]: [cell["fits"] for cell in row["cells"]] for row in shown["rows"]}
    assert fits == {
        "Amount": [True, False],
        "Our key": [True, False],
        "Made": [None, None],
        "Status": [None, None],
        "Belongs to": [True, True],
    }


def test_an_effects_life_is_told_from_its_ledger(sign_in: SignIn) -> None:
    gate = factories.gate()
    decide(factories.person("alice"), gate.pk, Answer(Verdict.APPROVE, gate.digest, 1), HERE)
    life = sign_in(factories.person("rita")).get(reverse("effect", args=[gate.effect.key])).context["life"]
    kinds = {one["word"]: one["kind"] for one in life["sheets"][0]["stations"]}
    assert life["here"] == "approved" and kinds["approved"] == "here"
    assert {word for word, kind in kinds.items() if kind == "passed"} == {"proposed", "gated"}
    assert {"sent", "applied", "in doubt", "failed"} <= {w for w, kind in kinds.items() if kind == "ahead"}
    assert {kinds["rejected"], kinds["expired"]} == {"other"}


@pytest.mark.parametrize("name", ["gate", "run", "effect"])
def test_a_page_of_one_thing_asks_no_more_for_a_long_run(name: str, sign_in: SignIn) -> None:
    claim = factories.running()
    first = factories.propose(claim, order="1", amount="150", currency="EUR")
    gate = Gate.objects.get(effect=first)
    argument: Any = {"gate": gate.pk, "run": claim.run_ref, "effect": first.key}[name]
    olga = sign_in(factories.person("olga"))
    olga.get(reverse(name, args=[argument]))
    with CaptureQueriesContext(connection) as few:
        olga.get(reverse(name, args=[argument]))
    for n in range(2, 32):
        factories.propose(claim, ordinal=n, order=str(n), amount="150", currency="EUR")
    with CaptureQueriesContext(connection) as many:
        olga.get(reverse(name, args=[argument]))
    assert Effect.objects.count() == 31
    assert len(many) <= len(few) + 1, [q["sql"] for q in many.captured_queries]
    assert len(many) <= 32


def test_the_tools_table_answers_the_two_questions(sign_in: SignIn) -> None:
    tools = {
        row["name"]: row for row in sign_in(factories.person("rita")).get(reverse("tools")).context["tools"]
    }
    assert (tools["pay_out"]["replay"], tools["pay_out"]["undo"], tools["pay_out"]["class_name"]) == (
        "yes",
        "n/a",
        "idempotent",
    )
    assert (
        tools["post_letter"]["replay"],
        tools["post_letter"]["undo"],
        tools["post_letter"]["class_name"],
    ) == (
        "no",
        "no",
        "irreversible",
    )


def test_the_first_page_tells_of_a_restore_until_everything_of_it_is_settled(
    sign_in: SignIn, vendor: Vendor
) -> None:
    effect = factories.gate().effect
    olga = sign_in(factories.person("olga"))

    def told() -> str:
        return str(olga.get(reverse("home")).context["restored"])

    assert told() == ""
    report = restoring.restored(actor="olga", reason="the disk died")
    assert report.effects == 1
    assert told().endswith(": 1 effect to be settled before anything of it is sent.")
    Effect.objects.filter(pk=effect.pk).update(forgotten_since=None)
    assert told() == ""
