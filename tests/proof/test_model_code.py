"""The model stands for the code: every guard names a place that is there, and no move is one that the code forbids."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
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
    Guard.HALF_LIFE,
    Guard.SAVED_ERROR,
    Guard.SEND_BY,
    Guard.REFUSED_WHILE_OPEN,
    Guard.RECEIPT_ONCE,
    Guard.LINK_GATED,
    Guard.BODY_BOUND,
    Guard.CANCEL,
    Guard.HOLD,
    Guard.ACT_BY,
    Guard.SHOWN,
    Guard.UNDO_APPLIED,
    Guard.UNDO_WAITS,
    Guard.RESERVE,
    Guard.FORK_GATED,
    Guard.RESTORED,
)


@dataclass
class Seen:
    """What the moves of some small cases do, all guards on: to effects' states, to runs' states, and in words."""

    effects: set[tuple[str, str]] = field(default_factory=set)
    runs: set[tuple[str, str]] = field(default_factory=set)
    lines: set[str] = field(default_factory=set)

    def note(self, line: str, before: World, after: World) -> None:
        self.lines.add(line)
        if line == "the database is restored from the backup":
            return  # it goes back, and that is no move of a run
        states = {effect.key: effect.state for effect in before.effects}
        for one in after.effects:
            if states.get(one.key, one.state) != one.state:
                self.effects.add((states[one.key], one.state))
        for run, then in zip(before.runs, after.runs, strict=False):
            if run.state != then.state:
                self.runs.add((run.state, then.state))


@pytest.fixture(scope="module")
def seen() -> Seen:
    """Every move of the cases, from every world that they reach."""
    found = Seen()
    for case in [SHOWS[guard] for guard in ROUND_ABOUT]:
        met = {case.start()}
        left = list(met)
        while left:
            world = left.pop()
            for line, after in moves(world, case):
                found.note(line, world, after)
                if after not in met:
                    met.add(after)
                    left.append(after)
    return found


def test_no_effect_of_the_model_moves_otherwise_than_the_code_allows(seen: Seen) -> None:
    legal = {(one.value, two.value) for one, following in EFFECT_MOVES.items() for two in following}

    assert seen.effects - legal == set()
    assert {state for pair in seen.effects for state in pair} == {state.value for state in EffectState}


def test_no_run_of_the_model_moves_otherwise_than_the_code_allows(seen: Seen) -> None:
    legal = {(one.value, two.value) for one, following in RUN_MOVES.items() for two in following}
    # One commit of the code makes two moves of these: it ends a cancelled run and begins its undoing.
    legal.add((RunState.CANCELLING.value, RunState.COMPENSATING.value))

    assert seen.runs - legal == set()
    left_out = {RunState.FAILING.value, RunState.FAILED.value}
    assert {state for pair in seen.runs for state in pair} == {s.value for s in RunState} - left_out


def test_the_model_comes_by_every_kind_of_event(seen: Seen) -> None:
    kinds = (
        "adopts what was found",
        "the sweeper looks again and adopts",
        "a person finds it at the vendor",
        "its key is still good",
        "its place is free",
        "leaves a late answer",
        "finds the send-by over and sends nothing",
        "which decides nothing yet",
        "a conflict, for people",
        "finds the yes lapsed",
        "what would be sent has changed",
        "it is their own edit",
        "somebody was first",
        "too late",
        "nobody decided in time",
        "suspends on the hold",
        "finds the answer there already and queues the run",
        "finds the budget spent",
        "has the parent's receipt",
        "the receipt belongs to another effect",
        "saves its error",
        "forgets",
        "as compensated",
        "as partly compensated",
        "may have been sent before the restore",
    )

    assert [kind for kind in kinds if not any(kind in line for line in seen.lines)] == []
