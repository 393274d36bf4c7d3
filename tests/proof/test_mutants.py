"""The catalogue of broken guards: it fits the code, it has one for each guard of the model, and it names real tests."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from proof.model.guards import Guard
from proof.mutants.catalogue import ALL
from proof.mutants.mutant import Edit, Mutant

ROOT = Path(__file__).resolve().parents[2]


def test_every_guard_of_the_model_is_broken_in_the_code_once() -> None:
    assert Counter(one.guard for one in ALL) == Counter(guard.name for guard in Guard)


@pytest.mark.parametrize("mutant", ALL, ids=lambda one: one.guard)
def test_a_mutant_changes_words_that_are_there_and_names_tests_that_are_there(mutant: Mutant) -> None:
    assert {edit.old: edit.found(ROOT) for edit in mutant.edits} == {edit.old: 1 for edit in mutant.edits}
    assert all(edit.new != edit.old for edit in mutant.edits)
    assert mutant.tests
    assert all((ROOT / words).is_file() for words in mutant.tests)


def test_an_edit_that_fits_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("if held:\n    if held:\n")
    with pytest.raises(ValueError, match="2 times"):
        Edit("code.py", "if held:", "if False:").apply(tmp_path)
