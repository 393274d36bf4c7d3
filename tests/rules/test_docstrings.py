"""What others may call says what comes in, what goes out and what is raised: no public name is without a docstring."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("durable", "approvals", "standin", "local")
#: Django and pytest say what these are for: their names are not ours.
OF_FRAMEWORKS = {"Meta", "Command", "add_arguments", "to_python", "pytest_addoption", "pytest_unconfigure"}
BASES_OF_FRAMEWORKS = {"AppConfig"}

Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def public(body: list[ast.stmt]) -> Iterator[Named]:
    """Classes and functions of a module, and what is inside of classes; nothing private, nothing of a framework."""
    for node in body:
        if not isinstance(node, Named) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            yield from public(node.body)
        if node.name not in OF_FRAMEWORKS and not of_framework(node):
            yield node


def of_framework(node: Named) -> bool:
    """Whether a class is what a framework demands, or a function is one more signature of another."""
    above = node.bases if isinstance(node, ast.ClassDef) else node.decorator_list
    return bool({ast.unparse(one) for one in above} & {*BASES_OF_FRAMEWORKS, "overload"})


def undocumented(source: str) -> list[str]:
    return [node.name for node in public(ast.parse(source).body) if not ast.get_docstring(node)]


def test_every_public_name_has_a_docstring() -> None:
    files = [
        path
        for place in PLACES
        for path in sorted((ROOT / place).rglob("*.py"))
        if "migrations" not in path.parts
    ]
    found = {
        str(path.relative_to(ROOT)): names for path in files if (names := undocumented(path.read_text()))
    }

    assert len(files) > 300
    assert found == {}


def test_a_name_without_a_docstring_is_found_in_a_module_and_in_a_class() -> None:
    source = "def bare(): ...\ndef _own(): ...\nclass A:\n    'It is.'\n    def inner(self): ...\n"

    assert undocumented(source) == ["bare", "inner"]
