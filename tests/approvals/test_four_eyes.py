"""A yes comes from somebody who had no hand in what is asked: not through a fork, and not through the state either."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection

from approvals import access, policy
from approvals.decisions import answer_back
from approvals.errors import Expired, Refused
from approvals.gatekeeper import Gatekeeper
from approvals.models import Gate
from durable import journal
from durable.models import Effect, Run
from durable.states import EventKind
from tests import factories
from tests.approvals.answering import ASK_BACK, EDIT, REJECT, answer, past

pytestmark = pytest.mark.django_db

ARGS = {"order": "8812", "amount": "150", "currency": "EUR"}


def forked(*requesters: str) -> Gate:
    """A gate in the last of a line of runs, each forked from the one before."""
    parent: int | None = None
    for requester in requesters:
        gate = factories.gate(requester)
        Run.objects.filter(pk=gate.effect.run_id).update(parent=parent)
        parent = gate.effect.run_id
    return Gate.objects.select_related("effect__run").get(pk=gate.pk)


def acted(gate: Gate, person: User, kind: EventKind) -> None:
    journal.record(gate.effect.run, kind, actor=access.actor(person), words="because")


@pytest.mark.parametrize(
    "line", [("alice", "olga"), ("Alice@Example.com", "olga"), ("alice", "shop", "olga")]
)
def test_nobody_approves_a_fork_of_what_they_asked_for(line: tuple[str, ...]) -> None:
    alice, bob, gate = factories.person("alice"), factories.person("bob"), forked(*line)
    with pytest.raises(Refused, match="you asked for the run behind this fork yourself"):
        answer(alice, gate)
    with pytest.raises(Refused, match="behind this fork"):
        answer(alice, gate, EDIT, args=ARGS)
    assert access.eligible(gate) == [bob]
    assert answer(bob, gate).verdict == "approve"


def test_who_asked_for_a_fork_says_nothing_about_its_parent() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    fork = factories.gate("alice")
    Run.objects.filter(pk=fork.effect.run_id).update(parent=gate.effect.run_id)
    assert answer(alice, gate).verdict == "approve"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (EventKind.STATE_EDITED, "you edited the state of this run"),
        (EventKind.FORKED, "you forked this run"),
        (EventKind.NEW_ROUND, "you answered a reviewer of this run"),
    ],
)
def test_whoever_shaped_the_run_says_no_yes_to_it(kind: EventKind, words: str) -> None:
    alice, bob, gate = factories.person("alice"), factories.person("bob"), factories.gate()
    acted(gate, alice, kind)
    with pytest.raises(Refused, match=words):
        answer(alice, gate)
    assert access.eligible(gate) == [bob]
    assert answer(alice, gate, REJECT).verdict == "reject"


@pytest.mark.parametrize("called", ["Alice", "ALICE", "Alice@Example.com"])
@pytest.mark.parametrize("kind", [EventKind.STATE_EDITED, EventKind.FORKED, EventKind.NEW_ROUND])
def test_whoever_shaped_the_run_from_a_shell_is_known_by_any_spelling_of_their_name_or_address(
    called: str, kind: EventKind
) -> None:
    alice, bob, gate = factories.person("alice"), factories.person("bob"), factories.gate()
    journal.record(gate.effect.run, kind, actor=called, words="because")
    with pytest.raises(Refused, match="somebody else must say yes"):
        answer(alice, gate)
    assert access.eligible(gate) == [bob]


def test_what_was_edited_before_the_fork_counts_in_it() -> None:
    alice, gate = factories.person("alice"), forked("shop", "shop")
    parent = gate.effect.run.parent
    assert parent is not None
    journal.record(parent, EventKind.STATE_EDITED, actor="alice", words="because")
    with pytest.raises(Refused, match="edited the state"):
        answer(alice, gate)


def test_other_acts_of_a_reviewer_take_no_vote_from_them() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    acted(gate, alice, EventKind.HELD)
    assert answer(alice, gate).verdict == "approve"


def test_an_approval_falls_when_its_giver_edits_the_state_before_it_is_used() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    answer(alice, gate)
    effect = Effect.objects.get(pk=gate.effect_id)
    assert Gatekeeper().may_release(effect) is None
    acted(gate, alice, EventKind.STATE_EDITED)
    assert Gatekeeper().may_release(effect) == "alice, who approved it, edited the state of this run"


def test_a_database_that_is_away_takes_no_approval_away(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = factories.gate()
    answer(factories.person("alice"), gate)
    effect = Effect.objects.get(pk=gate.effect_id)

    def slow(question: object) -> policy.Demand | None:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = '10ms'")
            cursor.execute("SELECT pg_sleep(5)")
        return None

    def wrong(question: object) -> policy.Demand | None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
        return None

    monkeypatch.setattr(policy, "RULES", (slow,))
    with pytest.raises(OperationalError, match="statement timeout"):
        Gatekeeper().may_release(effect)
    monkeypatch.setattr(policy, "RULES", (wrong,))
    assert Gatekeeper().may_release(effect) == "the approval could not be checked"


def test_an_answer_after_decide_by_opens_no_round() -> None:
    alice, olga, gate = factories.person("alice"), factories.person("olga"), factories.gate()
    answer(alice, gate, ASK_BACK)
    past(gate)
    with pytest.raises(Expired, match="Too late"):
        answer_back(olga, gate.pk, "because")
    assert Gate.objects.filter(effect=gate.effect).count() == 1
