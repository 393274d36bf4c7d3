"""What `manage.py verify` holds against the events besides the chains: rows, sealed words, and keys that are gone."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from durable import stops, vault
from durable.models import Run
from tests import factories
from tests.approvals.answering import edited
from tests.engine.rooted import forging
from tests.engine.test_verify import file, found, run

__all__ = ["file", "run"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_key_that_nobody_says_to_have_destroyed_is_found(run: Run) -> None:
    vault.destroy(run)
    assert found() == [
        f"{run.ref}: its key was destroyed, and no event says who erased what was sealed under it"
    ]


def test_words_of_acts_outside_of_runs_are_held_against_their_digests(run: Run) -> None:
    stop = stops.order("tool", "pay_out", actor="olga", reason="it pays twice")
    assert [line for line in found() if "covers" not in line] == []
    with forging() as wire:
        wire.execute("UPDATE durable_actwords SET box = set_byte(box, 20, get_byte(box, 20) # 1)")
    (line,) = found()
    assert line.startswith(f"stop:{stop.pk} event 1: what is sealed as")


def test_another_tool_in_the_row_of_an_effect_is_found(run: Run) -> None:
    with forging() as wire:
        wire.execute("UPDATE durable_effect SET tool = 'post_letter'")
    assert found() == [f"{run.ref} event 1: the row of {run.ref}:pay has another tool than this event"]


def test_another_amount_after_an_edit_is_found(run: Run) -> None:
    gate = edited(factories.gate(), User.objects.get(username="alice"))
    assert found() == []
    with forging() as wire:
        wire.execute("UPDATE durable_effect SET amount_minor = 100 WHERE id = %s", [gate.effect_id])
    (line,) = found()
    assert line.endswith("has another amount than this event")
