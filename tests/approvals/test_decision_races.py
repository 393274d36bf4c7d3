"""Two answers to one gate, and answers that come late: one winner, and everybody else is told."""

from __future__ import annotations

from functools import partial
from threading import Event

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from approvals.errors import Decided, Expired, Refused, Stale
from approvals.gatekeeper import Gatekeeper
from approvals.models import Decision, Gate
from approvals.states import Verdict
from durable import answers, faults, runs, vault
from durable.errors import Conflict
from durable.models import Effect, LedgerEvent
from durable.models.fields import Clock
from tests import factories
from tests.approvals.answering import APPROVE, EDIT, MOMENT, REJECT, answer, past, refusals
from tests.engine import desk
from tests.together import PATIENCE, at_once, somebody_waits

pytestmark = pytest.mark.django_db

# Races and clocks


def test_a_second_reviewer_is_told_who_won_and_when() -> None:
    alice, bob, gate = factories.person("alice"), factories.person("bob"), factories.gate()
    answer(alice, gate)
    with pytest.raises(Decided, match=f"already approved by Alice at {MOMENT}") as refused:
        answer(bob, gate, REJECT)
    assert not refused.value.again
    assert Decision.objects.count() == 1
    assert [one["why"] for one in refusals(gate)] == ["decided"]


def test_a_second_click_is_told_that_it_was_the_first() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    answer(alice, gate)
    with pytest.raises(Decided, match=rf"^Already approved by you at {MOMENT}\.$") as refused:
        answer(alice, gate)
    assert refused.value.again
    assert Decision.objects.count() == 1 and refusals(gate) == []


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_who_approves_again_what_has_become_void_is_told_that_it_is_void(who: str) -> None:
    people, gate = {name: factories.person(name) for name in ("alice", "bob")}, factories.gate()
    answer(people["alice"], gate)
    Gatekeeper().close(gate.effect, "withdrawn")
    with pytest.raises(Decided, match="it was withdrawn") as refused:
        answer(people[who], gate)
    assert not refused.value.again and "Already" not in str(refused.value)


def test_who_approves_again_a_round_that_was_superseded_is_led_to_the_new_one() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    answer(alice, gate)
    Gatekeeper().close(gate.effect, "superseded")
    with pytest.raises(Stale, match="look at it and decide anew"):
        answer(alice, gate)


def test_a_second_click_on_an_edit_is_told_that_it_was_the_first() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    answer(alice, gate, EDIT, args={"order": "8812", "amount": "150", "currency": "EUR"})
    with pytest.raises(Decided, match=r"^Already edited by you at") as refused:
        answer(alice, gate, EDIT, args={"order": "8812", "amount": "150", "currency": "EUR"})
    assert refused.value.again


def test_a_change_of_mind_is_told_what_was_said_before() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    answer(alice, gate)
    with pytest.raises(Decided, match="already approved by you at"):
        answer(alice, gate, REJECT)


def test_a_late_approval_is_refused() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    past(gate)
    with pytest.raises(Expired, match="Nothing was recorded"):
        answer(alice, gate)
    assert (Decision.objects.count(), Effect.objects.get(pk=gate.effect_id).state) == (0, "gated")


@pytest.mark.parametrize("swept", [False, True])
def test_a_late_rejection_is_kept_with_its_words(swept: bool) -> None:
    alice, gate = factories.person("alice"), factories.gate()
    past(gate)
    if swept:
        _sweep(gate)
    with pytest.raises(Expired, match="your refusal is kept"):
        answer(alice, gate, REJECT, "fraud suspected")
    decision = Decision.objects.get(gate=gate)
    assert decision.verdict == "late refusal"
    assert vault.read(decision.sealed)["words"] == "fraud suspected"
    assert Effect.objects.get(pk=gate.effect_id).state in ("gated", "expired")
    assert [(one["why"], one["round"]) for one in refusals(gate)] == [("late", gate.round)]
    with pytest.raises(Decided, match="by you at"):
        answer(alice, gate, REJECT, "fraud suspected")


def test_an_expired_gate_says_so_to_whoever_approves() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    _sweep(gate)
    with pytest.raises(Decided, match=r"nobody decided in time, and it expired at .* It was not executed"):
        answer(alice, gate)


def _sweep(gate: Gate) -> None:
    with transaction.atomic():
        answers.expire(answers.lock(gate.effect.run.ref, gate.wait_id))


def test_a_reviewer_is_told_who_has_cancelled_the_run() -> None:
    alice, gate = factories.person("alice"), factories.gate()
    runs.cancel(gate.effect.run.ref, actor="olga", reason="the customer has withdrawn")
    with pytest.raises(
        Decided, match=r"Nothing was recorded: run-\S+ is cancelling, asked by olga; nothing of it"
    ):
        answer(alice, gate)
    assert Decision.objects.count() == 0
    assert [one["why"] for one in refusals(gate)] == ["decided"]


def test_a_decision_that_fails_before_its_commit_leaves_no_trace() -> None:
    alice, gate = factories.person("alice"), factories.gate()

    def fail() -> None:
        raise RuntimeError("the power went")

    faults.arm("decision.before_commit", fail)
    with pytest.raises(RuntimeError):
        answer(alice, gate)
    gate.refresh_from_db()
    effect = Effect.objects.get(pk=gate.effect_id)
    assert (gate.state, effect.state, Decision.objects.count()) == ("open", "gated", 0)
    assert not LedgerEvent.objects.filter(effect_key=effect.key, kind="approved").exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("trial", range(5))
@pytest.mark.parametrize("second", [APPROVE, REJECT, EDIT])
def test_of_two_at_the_same_moment_exactly_one_wins(trial: int, second: Verdict) -> None:
    alice, bob, gate = factories.person("alice"), factories.person("bob"), factories.gate()

    def go(person: User, verdict: Verdict) -> str:
        args = {"order": "8812", "amount": "120", "currency": "EUR"} if verdict is EDIT else None
        return answer(person, gate, verdict, args=args).verdict

    told = at_once(partial(go, alice, APPROVE), partial(go, bob, second), loses=(Conflict, Refused))
    won = [one for one in told if isinstance(one, str)]
    lost = [one for one in told if not isinstance(one, str)]
    assert len(won) == len(lost) == 1, told
    assert isinstance(lost[0], (Decided, Stale))
    assert [d.verdict for d in Decision.objects.all()] == won
    state = {"approve": "approved", "reject": "rejected", "edit": "gated"}[won[0]]
    assert Effect.objects.get(pk=gate.effect_id).state == state


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("late", ["a yes", "its use"])
def test_what_waits_for_the_gates_row_across_its_deadline_comes_too_late(late: str) -> None:
    alice, gate, held = factories.person("alice"), factories.gate(), Event()
    if late == "its use":
        answer(alice, gate)
    gate = Gate.objects.select_related("effect").get(pk=gate.pk)

    def hold() -> None:
        """The deadline is the very moment at which somebody waits: who has looked at the clock before was in time."""
        with transaction.atomic():
            Gate.objects.select_for_update().get(pk=gate.pk)
            held.set()
            desk.until(somebody_waits)
            Gate.objects.filter(pk=gate.pk).update(**{"decide_by" if late == "a yes" else "act_by": Clock()})

    def come() -> str | None:
        assert held.wait(PATIENCE)
        return str(answer(alice, gate)) if late == "a yes" else Gatekeeper().may_release(gate.effect)

    _, told = at_once(hold, come, loses=Expired)
    assert ("Too late" in str(told)) if late == "a yes" else (told == "the approval was not used in time")
    assert Decision.objects.count() == (late == "its use")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("trial", range(5))
def test_an_approval_a_rejection_and_the_clock_at_the_same_moment_have_one_winner(
    trial: int,
) -> None:
    alice, bob, gate = factories.person("alice"), factories.person("bob"), factories.gate()
    acts = [lambda: answer(alice, gate), lambda: answer(bob, gate, REJECT), lambda: _sweep(gate)]
    told = at_once(*acts, loses=Conflict)
    winners = [n for n, one in enumerate(told) if not isinstance(one, Conflict)]
    assert len(winners) == 1
    won = ("approved", "rejected", "expired")[winners[0]]
    gate.refresh_from_db()
    assert (gate.state, Effect.objects.get(pk=gate.effect_id).state) == (won, won)
    counted = LedgerEvent.objects.filter(
        effect_key=gate.effect.key, kind__in=["approved", "rejected", "expired"]
    )
    assert [event.kind for event in counted] == [won]
    assert Decision.objects.exclude(verdict="late refusal").count() == (won != "expired")
