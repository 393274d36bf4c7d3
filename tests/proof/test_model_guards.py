"""The model: sound with all guards on, wrong without any one of them, within the small case that each guard names."""

from __future__ import annotations

from pathlib import Path

import pytest

from proof.model.__main__ import main
from proof.model.case import Case
from proof.model.guards import Guard
from proof.model.prove import told
from proof.model.scenarios import SHOWS
from proof.model.search import search

CASES = list(dict.fromkeys(SHOWS.values()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}: {case.vendor.name}")
def test_nothing_goes_wrong_while_all_guards_stand(case: Case) -> None:
    found = search(case)

    assert (found.wrong, found.story) == ("", ())
    assert found.worlds > 50


@pytest.mark.parametrize("guard", Guard, ids=lambda guard: guard.name)
def test_something_goes_wrong_without_a_guard(guard: Guard) -> None:
    found = search(SHOWS[guard].without(guard))

    assert found.wrong
    assert found.story


def test_a_story_can_be_read_from_its_beginning_to_what_is_wrong() -> None:
    guard = Guard.WRITE_AHEAD

    assert list(told(guard, search(SHOWS[guard].without(guard)))) == [
        "without WRITE_AHEAD: the intent is committed before the act (a crash; no keys, no look-up)",
        "   1. worker 1 claims run 1",
        "   2. worker 1 finds nothing of run-1:pay in the ledger",
        "   3. worker 1 means to write run-1:pay down afterwards",
        "   4. worker 1 sends the request for run-1:pay",
        "   5. the vendor moves 40 for run-1:pay, and answers",
        "   6. worker 1 is killed; its lease runs out",
        "   7. worker 1 claims run 1",
        "   8. worker 1 finds nothing of run-1:pay in the ledger",
        "   9. worker 1 means to write run-1:pay down afterwards",
        "  10. worker 1 sends the request for run-1:pay",
        "  11. the vendor moves 40 for run-1:pay, and answers",
        "   => run-1:pay has happened 2 times",
    ]


def test_the_story_in_the_document_is_the_one_that_is_told() -> None:
    guard = Guard.KEY_HONOURED
    page = (Path(__file__).resolve().parents[2] / "docs" / "model.md").read_text()

    assert "\n".join(told(guard, search(SHOWS[guard].without(guard)))) in page
    assert f"for each of {len(Guard)} guards" in page


def test_the_story_of_one_guard_is_told_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--guard", "KEY_HONOURED"]) == 0

    said = capsys.readouterr().out
    assert "without KEY_HONOURED: software repeats only under a key that the vendor honours" in said
    assert "   => run-1:pay has happened 2 times" in said
    assert "It stands for durable.reconcile.key_is_good" in said


def test_every_guard_is_listed_with_its_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0

    said = capsys.readouterr().out
    assert [guard.name for guard in Guard if f"{guard.name}: {guard.rule}\n" not in said] == []
