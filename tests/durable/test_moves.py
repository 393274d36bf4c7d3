"""Moves of one row: only legal ones, only from the state that the mover believes in, only of that row."""

from __future__ import annotations

import pytest
from django.db import transaction

from durable.errors import Conflict
from durable.models import Effect, Run, Wait
from durable.models.fields import Clock
from durable.states import EffectState, RunState, WaitState
from durable.transitions import close_wait, move_effect, move_run
from tests import factories


@pytest.mark.django_db
def test_a_move_that_is_not_legal_is_refused() -> None:
    effect = factories.gate().effect
    with pytest.raises(Conflict, match="it cannot become completed"):
        move_run(effect.run, RunState.COMPLETED)
    with pytest.raises(Conflict, match="it cannot become applied"):
        move_effect(effect, EffectState.APPLIED)


@pytest.mark.django_db
def test_what_is_approved_does_not_expire_but_is_asked_about_again() -> None:
    effect = factories.gate().effect
    move_effect(effect, EffectState.APPROVED)
    with pytest.raises(Conflict, match="it cannot become expired"):
        move_effect(effect, EffectState.EXPIRED)
    move_effect(effect, EffectState.GATED)


@pytest.mark.django_db
def test_a_move_from_a_state_that_is_over_is_refused() -> None:
    effect = factories.gate().effect
    move_run(Run.objects.get(pk=effect.run_id), RunState.QUEUED)
    with pytest.raises(Conflict, match="no longer suspended"):
        move_run(effect.run, RunState.CANCELLING)
    move_effect(Effect.objects.get(pk=effect.pk), EffectState.APPROVED)
    with pytest.raises(Conflict, match="no longer gated"):
        move_effect(effect, EffectState.WITHDRAWN)


@pytest.mark.django_db
def test_a_move_is_of_one_row_alone_and_leaves_a_moment_where_it_closes() -> None:
    first, second = factories.gate(), factories.gate()
    move_run(first.effect.run, RunState.CANCELLING)
    move_effect(first.effect, EffectState.WITHDRAWN)
    assert close_wait(first.wait, WaitState.WITHDRAWN, by="olga")
    assert not close_wait(first.wait, WaitState.RESOLVED, by="rita")
    assert (first.wait.state, first.wait.closed_by) == ("withdrawn", "olga") and first.wait.closed_at
    assert Run.objects.get(pk=second.effect.run_id).state == "suspended"
    assert Effect.objects.get(pk=second.effect_id).state == "gated"
    assert Wait.objects.get(pk=second.wait_id).state == "open"


@pytest.mark.django_db
def test_a_run_that_is_to_end_begins_without_the_crashes_of_its_way_forward() -> None:
    run = factories.gate().effect.run
    Run.objects.filter(pk=run.pk).update(crashes=3)
    assert move_run(run, RunState.CANCELLING, due_at=Clock()).crashes == 0


@pytest.mark.django_db(transaction=True)
def test_a_move_outside_of_a_transaction_is_a_mistake_of_its_programmer() -> None:
    gate = factories.gate()
    with pytest.raises(RuntimeError):
        move_run(gate.effect.run, RunState.CANCELLING)
    with pytest.raises(RuntimeError):
        move_effect(gate.effect, EffectState.WITHDRAWN)
    with pytest.raises(RuntimeError):
        close_wait(gate.wait, WaitState.WITHDRAWN, by="olga")
    with transaction.atomic():
        assert close_wait(gate.wait, WaitState.WITHDRAWN, by="olga")
