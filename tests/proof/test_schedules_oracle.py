"""The oracle of the crash schedules sees each thing that may go wrong, planted into a history that is sound."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.db.models import F

from approvals.people import demo_people
from durable import sending
from durable.models import Budget, LedgerEvent, Purse, Run
from local.vendor import Vendor
from proof.schedules import life, oracle
from proof.schedules.course import Course
from proof.schedules.notes import Pen
from proof.schedules.plan import at
from tests.vendors import Vendor as Running

Book = list[dict[str, Any]]


@dataclass
class Played:
    """A schedule that is over, and what its vendor's book says."""

    course: Course
    run: Run
    book: Book

    def found(self) -> list[str]:
        return oracle.violations(self.course.schedule, self.course.notes, self.run, self.book)


def play(vendor: Running, cls: str) -> Played:
    demo_people()
    course, asked = Course(at(cls, "whole"), "planted"), Vendor(vendor.url)
    pipe = os.open(os.devnull, os.O_WRONLY)
    life.live(course, asked, Pen(pipe, course.notes))
    os.close(pipe)
    return Played(course, Run.objects.get(), asked.book())


@pytest.fixture
def played(vendor: Running, transactional_db: Any, monkeypatch: pytest.MonkeyPatch) -> Played:
    monkeypatch.setattr(sending, "SHORT", sending.SHORT)  # put back what a life changes
    return play(vendor, "K")


def test_a_sound_history_has_no_violation(played: Played) -> None:
    assert [int(float(entry["amount"])) for entry in played.book] == [10, 120, 10]
    assert played.found() == []


def twice(book: Book) -> None:
    book.append({**book[0], "id": "re_again", "key": book[0]["key"] + "~2"})


def never(book: Book) -> None:
    del book[1]


def undone_twice(book: Book) -> None:
    book.append({**book[2], "id": "re_again"})


def another_sum(book: Book) -> None:
    book[1]["amount"] = "121.00"


def for_nobody(book: Book) -> None:
    book.append({**book[0], "id": "re_stray", "target": "ch_other"})


def another_receipt(book: Book) -> None:
    book[0]["id"] = "re_other"


PLANTED: tuple[tuple[Callable[[Book], None], str], ...] = (
    (twice, "the first act moved 2 times"),
    (never, "the run completed, and its second act never moved"),
    (never, "stands in the ledger with"),
    (undone_twice, "the first act was undone 2 times, and had moved 1 times"),
    (another_sum, "the second act moved 121, not 120"),
    (for_nobody, "re_stray moved for nobody's sake"),
    (another_receipt, "moved as re_other, and the ledger does not say so"),
)


def test_what_the_book_has_otherwise_is_found(played: Played) -> None:
    sound = played.book
    for plant, sentence in PLANTED:
        played.book = copy.deepcopy(sound)
        plant(played.book)
        found = played.found()
        assert any(sentence in one for one in found), (plant.__name__, found)


def test_what_moved_without_a_yes_is_found(played: Played) -> None:
    (yes,) = played.course.notes.yeses
    played.course.notes.yeses.clear()
    assert any("nobody had approved it" in found for found in played.found())
    played.course.notes.yeses.append(yes.partition(" ")[0] + " " + "0" * 64)
    assert any("a payload that nobody had approved" in found for found in played.found())


def test_counters_that_are_not_the_sums_of_their_entries_are_found(played: Played) -> None:
    Purse.objects.update(reserved_minor=F("reserved_minor") + 1)
    Budget.objects.update(steps_used=F("steps_used") + 1, tokens_used=F("tokens_used") + 3)
    assert [found.split(" ")[1] for found in played.found()] == ["purse", "steps", "tokens"]


def test_a_run_without_an_end_is_found(played: Played) -> None:
    Run.objects.update(state="suspended")
    assert "the run is suspended" in played.found()


def test_a_changed_event_breaks_the_chain(played: Played) -> None:
    events = list(LedgerEvent.objects.filter(run_ref=played.run.ref).order_by("no"))
    assert list(oracle.chain(events)) == []
    events[3].body = "{}"
    assert list(oracle.chain(events)) == [f"the chain of {played.run.ref} breaks at event 4"]
    assert list(oracle.chain(events[:2] + events[3:])) == [f"the chain of {played.run.ref} breaks at event 3"]
