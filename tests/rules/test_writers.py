"""Who writes what: states and events of the engine are written in few places, and views write nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = [
    path
    for place in ("durable", "approvals")
    for path in sorted((ROOT / place).rglob("*.py"))
    if "migrations" not in path.parts
]
VIEWS = sorted((ROOT / "approvals/views").glob("*.py"))

#: The fused statements: each checks and writes in one.
FUSED = {"durable/ledger/statements.py", "durable/transitions/hot.py", "durable/transitions/lives.py"}
#: `acts` writes what belongs to no run. The database's own triggers, of people and roles, stand in migrations.
PENS = FUSED | {"durable/acts.py", "durable/journal.py"}
#: A guarded move of one row; the console's moves its own gates.
MOVERS = {"durable/transitions/moves.py", "approvals/decisions.py"}

EVENT = re.compile(
    r"INSERT INTO durable_ledgerevent\b|(?<!class )\bLedgerEvent\(|\bLedgerEvent\.objects\.\w*create"
)
STATE = re.compile(
    r"INSERT INTO durable_(?:run|effect|wait)\b"
    r"|UPDATE durable_(?:run|effect|wait)\b(?:(?!\b(?:FROM|WHERE|RETURNING)\b)[^;])*?\bstate = "
)
MOVE = re.compile(r"from durable\.models\.rows import [^\n]*\bupdate\b")
#: What saves, by the names of Django's methods.
WRITES = {
    "bulk_create", "bulk_update", "create", "delete", "get_or_create", "save", "update", "update_or_create",
}  # fmt: skip
#: Doors of the console that bear such a name, and the sign-in, which Django has its views keep.
NO_WRITES = {"orders.delete", "run_views.delete", "run_views.save", "self.request.session.save"}


def holding(pattern: re.Pattern[str]) -> set[str]:
    """The modules of engine and console in which a text is found."""
    return {str(path.relative_to(ROOT)) for path in CODE if pattern.search(path.read_text())}


def calls(source: str, names: set[str]) -> Iterator[ast.Call]:
    """Every call of a method that bears one of these names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
            yield node


def saved(source: str) -> list[str]:
    """What a module saves through Django's models, as it calls it."""
    found = [ast.unparse(call.func) for call in calls(source, WRITES)]
    return [name for name in found if name not in NO_WRITES]


def moved(source: str) -> list[str]:
    """Where a module gives a state to runs, effects or waits through Django's models."""
    found = [call for call in calls(source, WRITES) if "state" in {one.arg for one in call.keywords}]
    return [
        name for call in found if re.match(r"(Run|Effect|Wait)\.objects\b", name := ast.unparse(call.func))
    ]


def test_only_the_journal_the_acts_and_the_fused_statements_write_events() -> None:
    assert holding(EVENT) == PENS


def test_only_transitions_and_the_fused_statements_of_an_effect_write_states() -> None:
    assert holding(STATE) == FUSED
    assert holding(MOVE) == MOVERS
    assert {str(path): names for path in CODE if (names := moved(path.read_text()))} == {}


def test_views_save_nothing() -> None:
    found = {path.name: names for path in VIEWS if (names := saved(path.read_text()))}

    assert len(VIEWS) > 20
    assert found == {}


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (EVENT.search, 'SQL = "INSERT INTO durable_ledgerevent (run_ref) VALUES (1)"'),
        (EVENT.search, "LedgerEvent.objects.bulk_create(found)"),
        (EVENT.search, "LedgerEvent(run_ref=ref).save()"),
        (STATE.search, "UPDATE durable_run r\n    SET version = 1,\n    state = 'failing' WHERE r.id = 1"),
        (STATE.search, "INSERT INTO durable_wait AS w (run_id) VALUES (1)"),
        (MOVE.search, "from durable.models.rows import columns, update"),
        (moved, "Wait.objects.filter(pk=1).update(state='closed')"),
        (saved, "request.user.save()"),
        (saved, "Gate.objects.filter(pk=1).update(round=2)"),
    ],
)
def test_each_rule_knows_what_it_is_against(rule: Callable[[str], object], source: str) -> None:
    assert rule(source)


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (EVENT.search, "class LedgerEvent(models.Model): ..."),
        (STATE.search, "UPDATE durable_run r SET hinted_at = now() WHERE r.state = 'queued'"),
        (STATE.search, "INSERT INTO durable_runview (state) VALUES (1)"),
        (moved, "ErasureRun.objects.filter(pk=1).update(state='erased')"),
        (saved, "run_views.save(person, name, query)"),
    ],
)
def test_each_rule_leaves_alone_what_it_is_not_about(rule: Callable[[str], object], source: str) -> None:
    assert not rule(source)
