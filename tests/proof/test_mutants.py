"""The catalogue of broken guards: it fits the code, it has one for each guard of the model, and it names real tests."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proof.model.guards import Guard
from proof.mutants.catalogue import ALL
from proof.mutants.lines import change, constants
from proof.mutants.lines.change import Source
from proof.mutants.lines.finding import changes
from proof.mutants.lines.transplant import transplant
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


# Every line, broken: which changes there are, and that one is felt by whoever had the old code already.

BREAKABLE = '''
"""A module that is broken here."""

import logging
from contextlib import contextmanager
from dataclasses import dataclass

log = logging.getLogger(__name__)
LIMIT = 5
FIND = """
    SELECT id FROM tickets WHERE owner = %(owner)s AND price < 5 FOR UPDATE
"""


@dataclass(frozen=True, slots=True)
class Seat:
    row: int = 1

    @property
    def good(self):
        return self.row < LIMIT


def allowed(age, paid):
    """Whether somebody gets in."""
    if age >= 18 and paid:
        return True
    return False


@contextmanager
def opened(done):
    log.info("opening")
    yield done
    done.append("shut")
'''
USING = """
from shop.breakable import FIND, LIMIT, Seat, allowed, opened
MANY = f"{FIND} AND free > {LIMIT}"
FEW = [MANY.lower()]
"""


@pytest.fixture
def using(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module that has imported by name what stands in `breakable`."""
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "breakable.py").write_text(BREAKABLE)
    (shop / "using.py").write_text(USING)
    monkeypatch.setattr(change, "ROOT", tmp_path)
    monkeypatch.setattr(constants, "PACKAGES", ("shop",))
    constants.definitions.cache_clear()
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("shop.using")
    for name in ("shop.using", "shop.breakable", "shop"):
        sys.modules.pop(name)
    constants.definitions.cache_clear()


def put(kind: str, new: str) -> None:
    """Put the only such change into this process."""
    found = [one for one in changes(Source("shop/breakable.py")) if (one.kind, one.new) == (kind, new)]
    assert len(found) == 1, [one.told() for one in found]
    transplant(found[0])


def test_conditions_operands_and_answers_are_broken_and_docstrings_are_not(using: Any) -> None:
    where = BREAKABLE.count("\n", 0, BREAKABLE.index("def allowed"))
    found = {
        (one.kind, one.new) for one in changes(Source("shop/breakable.py")) if where < one.line < where + 7
    }
    assert found == {
        ("condition fixed", "True"),
        ("condition fixed", "False"),
        ("operand dropped", "(paid)"),
        ("operand dropped", "(age >= 18)"),
        ("comparison changed", "(age > 18)"),
        ("constant changed", "19"),
        ("constant changed", "False"),
        ("constant changed", "True"),
        ("answer emptied", "None"),
    }


def test_conditions_locks_and_operators_of_sql_are_broken(using: Any) -> None:
    found = {
        (one.kind, one.new) for one in changes(Source("shop/breakable.py")) if one.kind.startswith("SQL")
    }
    assert found == {
        ("SQL condition dropped", "(owner = %(owner)s OR true)"),
        ("SQL condition dropped", "(price < 5 OR true)"),
        ("SQL operator changed", "<="),
        ("SQL lock dropped", ""),
    }


def test_a_change_is_felt_by_whoever_had_imported_the_function_before(using: Any) -> None:
    assert not using.allowed(18, paid=False)
    put("operand dropped", "(age >= 18)")
    assert using.allowed(18, paid=False)


def test_a_change_is_felt_in_constants_methods_and_context_managers(using: Any) -> None:
    put("SQL lock dropped", "")
    assert "FOR UPDATE" not in using.FIND
    assert "FOR UPDATE" not in using.MANY and "for update" not in using.FEW[0]
    assert using.Seat(4).good
    put("comparison changed", "(self.row <= LIMIT)")
    assert using.Seat(5).good
    put("constant changed", "2")
    assert using.Seat().row == 2
    put("statement dropped", "pass")
    with using.opened([]) as done:
        pass
    assert done == []
