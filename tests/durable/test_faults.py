"""Fault points cost nothing, fire once where they are told to, and cannot be reached from outside."""

from __future__ import annotations

import ast
import re
import timeit
from collections.abc import Iterator
from pathlib import Path

import pytest

from durable import faults

ENGINE = Path(faults.__file__).parent


@pytest.fixture(autouse=True)
def _disarmed() -> Iterator[None]:
    faults.disarm_all()
    yield
    faults.disarm_all()


def called_with(functions: set[str]) -> set[str]:
    """The names that the engine's source passes to these functions of `faults`, as patterns."""
    found = set()
    for path in ENGINE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "faults" and node.func.attr in functions:
                found.add(pattern(node.args[0]))
    return found


def pattern(name: ast.expr) -> str:
    """What a name in the source stands for: itself, or with `.+` where a part of it is filled in."""
    if isinstance(name, ast.JoinedStr):
        return "".join(pattern(part) for part in name.values)
    return re.escape(str(name.value)) if isinstance(name, ast.Constant) else ".+"


def test_a_point_fires_once_at_the_hit_that_was_named() -> None:
    fired: list[str] = []
    faults.arm("sent.after_commit", lambda: fired.append("now"), hit=3)
    counts = []
    for _ in range(5):
        faults.point("sent.after_commit")
        counts.append(len(fired))
    assert counts == [0, 0, 1, 1, 1]


def test_other_points_do_not_fire_and_do_not_count() -> None:
    fired: list[str] = []
    faults.arm("sent.after_commit", lambda: fired.append("now"), hit=2)
    for name in faults.POINTS:
        faults.point(name)
    assert fired == []
    faults.point("sent.after_commit")
    assert fired == ["now"]


def test_an_action_may_raise_and_arm_again() -> None:
    def stop() -> None:
        faults.arm("vendor.before_call", stop)
        raise RuntimeError("stopped here")

    faults.arm("vendor.before_call", stop)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="stopped here"):
            faults.point("vendor.before_call")


def test_nothing_fires_after_disarming() -> None:
    faults.arm("intent.before_commit", lambda: pytest.fail("it fired"))
    faults.turn("lookup.skip", True)
    faults.disarm_all()
    faults.point("intent.before_commit")
    assert not faults.switch("lookup.skip")


def test_a_switch_is_off_until_code_turns_it_on() -> None:
    assert not any(faults.switch(name) for name in faults.SWITCHES)
    with faults.turned_on("lookup.skip"):
        assert faults.switch("lookup.skip")
    assert not faults.switch("lookup.skip")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no fault point is called 'sent.never'"):
        faults.arm("sent.never", lambda: None)
    with pytest.raises(ValueError, match="no fault switch is called 'brakes'"):
        faults.turn("brakes", True)
    with pytest.raises(ValueError, match="hit must be 1 or more"):
        faults.arm("sent.after_commit", lambda: None, hit=0)


def test_the_engine_passes_known_points_only() -> None:
    for functions, known in (({"point"}, faults.POINTS), ({"switch"}, faults.SWITCHES)):
        for name in called_with(functions):
            assert any(re.fullmatch(name, one) for one in known), (
                f"{name} is not declared in durable/faults.py"
            )


def test_the_engine_itself_arms_nothing() -> None:
    assert called_with({"arm"}) == set()


def test_faults_read_no_setting_and_no_environment() -> None:
    modules = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(Path(faults.__file__).read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert modules == {"__future__", "collections.abc", "contextlib", "dataclasses", "threading", "types"}


def test_every_name_comes_with_a_sentence() -> None:
    for sentence in [*faults.POINTS.values(), *faults.SWITCHES.values()]:
        assert sentence[0].isupper()
        assert sentence.endswith(".")


def test_an_unarmed_point_costs_little_more_than_calling_a_function_that_does_nothing() -> None:
    def nothing(name: str) -> None: ...

    # The best of many short rounds: the machine may be busy with something else.
    best = min(timeit.repeat(lambda: faults.point("sent.after_commit"), number=1_000, repeat=500))
    empty = min(timeit.repeat(lambda: nothing("sent.after_commit"), number=1_000, repeat=500))
    assert best < 2 * empty
