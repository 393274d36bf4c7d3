"""A dozen workers that wake up too late, on real processes; and that a late write would be seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from approvals.people import demo_people
from durable import plan
from durable.states import EventKind
from local.vendor import Vendor as Stranger
from proof import zombies
from proof.races.ground import Ground, people
from proof.zombies import cases, cast, lives
from proof.zombies.lives import Seen, changed
from tests.vendors import Vendor


@pytest.fixture
def ground(vendor: Vendor, transactional_db: None) -> Iterator[Ground]:
    """The session's stand-in, and people who decide."""
    known = dict(plan.agents())
    demo_people()
    yield Ground(Stranger(vendor.url), people())
    plan._agents.clear()
    plan._agents.update(known)


@pytest.mark.process
def test_a_worker_that_wakes_up_after_its_lease_adds_a_late_answer_at_most(
    ground: Ground, vendor: Vendor
) -> None:
    slept, without_fence = zombies.shown(lambda _line: None, ground, vendor.environment(), count=12)
    assert slept.violations == ()
    assert slept.tried == 12
    assert without_fence.sound, without_fence.violations


RUN: dict[str, Any] = {"id": 1, "state": "completed", "version": 3}
BEFORE = Seen([b"1", b"2"], ["started", "applied"], {"Run": [RUN], "Checkpoint": [{"id": 7}]})


def test_a_late_answer_is_no_change() -> None:
    after = replace(BEFORE, hashes=[b"1", b"2", b"3"], kinds=[*BEFORE.kinds, EventKind.LATE_ANSWER])
    assert list(changed(BEFORE, after)) == []


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        (replace(BEFORE, hashes=[b"1", b"x"]), "its ledger was rewritten"),
        (replace(BEFORE, hashes=[b"1"]), "its ledger was rewritten"),
        (
            replace(BEFORE, hashes=[b"1", b"2", b"3"], kinds=[*BEFORE.kinds, "sent"]),
            "it added sent to the ledger",
        ),
        (replace(BEFORE, rows={**BEFORE.rows, "Run": [{**RUN, "version": 2}]}), "it changed Run: version"),
        (replace(BEFORE, rows={**BEFORE.rows, "Checkpoint": []}), "it changed Checkpoint: 1 rows, now 0"),
    ],
    ids=["a hash", "an event that is gone", "another event", "a column", "a row"],
)
def test_a_late_write_is_seen(after: Seen, sentence: str) -> None:
    assert sentence in list(changed(BEFORE, after))


@pytest.mark.process
def test_before_quiescence_nobody_is_believed_that_a_sleeping_workers_request_did_not_happen(
    ground: Ground, vendor: Vendor
) -> None:
    """Stopped between `sent` and the request, at a vendor that knows no keys and can't be asked."""
    agent = cast.KeylessDesk.name
    release = next(leg for leg in cases.LEGS if leg.name == "release")
    asleep = [
        cases.Case(agent, release, stop) for stop in ("sent.after_commit:1", "vendor.before_call:1", "tool")
    ]
    with lives.keeping(vendor.environment()) as keeper:
        tale = lives.play(ground, keeper, asleep)
    assert tale.wrong == []
    assert tale.refused
