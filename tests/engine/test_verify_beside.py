"""What `manage.py verify` holds against the events besides the chains: rows, sealed words, and keys that are gone."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User

from durable import stops, vault
from durable.models import LedgerEvent, Run, Subject
from tests import factories
from tests.approvals.answering import edited
from tests.engine.rooted import file, forging, rechain
from tests.engine.test_verify import found, run

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


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE durable_subject SET hash = repeat('a', 64)",
        "UPDATE durable_subject SET kind = 'customer'",
        "UPDATE durable_subject SET run_id = run_id + 1",
        "DELETE FROM durable_subject",
        "INSERT INTO durable_subject (effect_id, run_id, kind, hash) "
        "SELECT effect_id, run_id, 'customer', repeat('b', 64) FROM durable_subject",
        "UPDATE durable_effect SET once_per = repeat('c', 64)",
    ],
)
def test_another_subject_in_the_rows_of_an_effect_is_found(run: Run, change: str) -> None:
    assert Subject.objects.filter(kind="order").count() == 1
    with forging() as wire:
        wire.execute(change.encode())
    assert found() == [
        f"{run.ref} event 1: the rows of {run.ref}:pay say that it is about others than this event"
    ]
    assert found("--without-payloads") == []


def test_what_an_edited_effect_is_about_is_held_against_the_edit(run: Run) -> None:
    gate = edited(factories.gate(), User.objects.get(username="alice"))
    assert found() == []
    with forging() as wire:
        wire.execute("DELETE FROM durable_subject WHERE effect_id = %s", [gate.effect_id])
    (line,) = found()
    assert line.endswith("is about others than this event") and " event 1:" not in line


def test_events_of_one_person_have_nothing_in_common_that_tells_whom(run: Run) -> None:
    factories.gate()
    filed = set(Subject.objects.values_list("kind", "hash"))
    assert (Subject.objects.count(), len(filed)) == (2, 1)
    bodies = list(LedgerEvent.objects.filter(kind="intent").values_list("body", flat=True))
    assert len({re.search('"about":"([0-9a-f]{64})"', body)[1] for body in bodies}) == 2
    assert not [body for body in bodies for _, hash in filed if hash in body]


def test_an_effect_of_before_this_was_told_is_no_finding(run: Run) -> None:
    event = LedgerEvent.objects.get(kind="intent")
    body = re.sub('"about":"[0-9a-f]{64}",', "", event.body)
    assert body != event.body
    other = factories.gate()
    with forging() as wire:
        wire.execute("UPDATE durable_ledgerevent SET body = %s WHERE id = %s", [body, event.pk])
        rechain(wire)
        wire.execute("DELETE FROM durable_subject")
    lines = [line for line in found() if "about others" in line]
    assert [line.split()[0] for line in lines] == [other.effect.run.ref]
