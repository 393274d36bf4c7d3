"""The model stands for the code: every guard names a place that is there, and no move is one that the code forbids."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest

from durable.states import EFFECT_MOVES, RUN_MOVES, EffectState, RunState
from proof.model.guards import Guard
from proof.model.scenarios import SHOWS
from proof.model.search import moves
from proof.model.world import World


def source(name: str) -> str:
    """The source of what a dotted name names: a module, or a function, class or constant in one."""
    module, _, rest = name.rpartition(".")
    try:
        return inspect.getsource(import_module(name))
    except ModuleNotFoundError:
        found = getattr(import_module(module), rest)
    if isinstance(found, str):
        return found
    if isinstance(found, ModuleType) or callable(found):
        return inspect.getsource(found)
    raise TypeError(f"{name} is a {type(found).__name__}")


@pytest.mark.parametrize("guard", Guard, ids=lambda guard: guard.name)
def test_the_guard_of_the_code_that_a_switch_stands_for_is_there(guard: Guard) -> None:
    name, _, words = guard.stands_for.partition(": ")

    assert words
    assert words in source(name)


def test_every_guard_has_a_case_and_none_stands_for_two_rules() -> None:
    assert set(SHOWS) == set(Guard)
    assert len({guard.rule for guard in Guard}) == len(Guard) >= 20


#: Between them their cases come by every state, and are small.
ROUND_ABOUT = (
    Guard.REFUSED_WHILE_OPEN,
    Guard.LINK_GATED,
    Guard.BODY_BOUND,
    Guard.CANCEL,
    Guard.HOLD,
    Guard.ACT_BY,
    Guard.SHOWN,
    Guard.UNDO_APPLIED,
    Guard.UNDO_WAITS,
    Guard.FORK_GATED,
    Guard.RESTORED,
)


def reached() -> Iterator[tuple[World, World]]:
    """Every move of some small cases, all guards on, as the worlds before and after it."""
    for case in [SHOWS[guard] for guard in ROUND_ABOUT]:
        seen = {case.start()}
        left = list(seen)
        while left:
            world = left.pop()
            for line, after in moves(world, case):
                if not line.startswith("the database is restored"):
                    yield world, after
                if after not in seen:
                    seen.add(after)
                    left.append(after)


@pytest.fixture(scope="module")
def changes() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Every change of an effect's and of a run's state that some move of the model makes."""
    effects, runs = set(), set()
    for before, after in reached():
        if before.effects is not after.effects:
            states = {effect.key: effect.state for effect in before.effects}
            effects |= {
                (states[one.key], one.state)
                for one in after.effects
                if one.key in states and states[one.key] != one.state
            }
        runs |= {
            (one.state, two.state)
            for one, two in zip(before.runs, after.runs, strict=False)
            if one.state != two.state
        }
    return effects, runs


def test_no_effect_of_the_model_moves_otherwise_than_the_code_allows(
    changes: tuple[set[tuple[str, str]], set[tuple[str, str]]],
) -> None:
    legal = {(one.value, two.value) for one, following in EFFECT_MOVES.items() for two in following}

    assert changes[0] - legal == set()
    assert {state for pair in changes[0] for state in pair} == {state.value for state in EffectState}


def test_no_run_of_the_model_moves_otherwise_than_the_code_allows(
    changes: tuple[set[tuple[str, str]], set[tuple[str, str]]],
) -> None:
    legal = {(one.value, two.value) for one, following in RUN_MOVES.items() for two in following}
    # One commit of the code makes two moves of these: it ends a cancelled run and begins its undoing.
    legal.add((RunState.CANCELLING.value, RunState.COMPENSATING.value))

    assert changes[1] - legal == set()
    left_out = {RunState.FAILING.value, RunState.FAILED.value}
    assert {state for pair in changes[1] for state in pair} == {s.value for s in RunState} - left_out
