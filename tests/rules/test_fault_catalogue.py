"""The catalogue of faults leaves no row out, and each row names tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAULTS = 47
#: Labels of the cases, as they came; each is a row.
CASES = (
    1, 2, 4, 6, 8, 10, 13, 14, 15, 18, 20, 23, 25, 26, 29, 31, 33, 35, 38, 40, 41, 42, 45, 47, 50, 53, 55, 57, 59, 61,
    63, 65, 66, 68, 70, 72, 73, 76, 79, 80, 82, 84, 86, 88, 90, 92, 94, 95, 98, 100, 102, 104, 106, 107, 109, 111, 113,
    115, 117, 119, 121, 123, 125, 127, 129, 131, 133, 135, 137, 139, 141, 143, 145,
)  # fmt: skip


def rows() -> dict[str, str]:
    """The last cell of each row, by its label."""
    lines = (ROOT / "docs/faults.md").read_text().splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if re.match(r"\| [FC]\d", line)]
    return {one[0]: one[-1] if len(one) == 4 else "" for one in cells}


def there() -> set[str]:
    """The name of every test of the product."""
    trees = [ast.parse(path.read_text()) for path in (ROOT / "tests").rglob("test_*.py")]
    functions = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {node.name for node in functions if node.name.startswith("test_")}


def test_no_row_is_unlisted() -> None:
    assert list(rows()) == [*(f"F{no}" for no in range(1, FAULTS + 1)), *(f"C{no}" for no in CASES)]


def test_every_row_names_tests_that_are_there() -> None:
    known = there()
    named = {label: re.findall(r"`(test_\w+)`", cell) for label, cell in rows().items()}
    assert [label for label, names in named.items() if not names] == []
    assert {label: missing for label, names in named.items() if (missing := set(names) - known)} == {}
