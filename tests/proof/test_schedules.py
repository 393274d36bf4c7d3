"""Processes die at every point, and at random ones, by real SIGKILL. The vendor's own book says what moved."""

from __future__ import annotations

from typing import Any

import pytest

from durable import faults
from proof.schedules import proving
from proof.schedules.controls import CONTROLS
from proof.schedules.plan import TURNS, at, drawn, named
from tests.engine.test_dying_beside import BESIDE
from tests.process.test_beats_beside import LATE
from tests.process.test_statement_killed import POINTS as STATEMENT

pytestmark = pytest.mark.process
#: What every errand that is undone passes, and what one with a gate does; others come with doubts, faults and commands.
ALWAYS = frozenset({"start", "claim", "reserve", "freeze", "checkpoint", "intent", "outcome", "end"})
ALWAYS |= {"command", "undo"}
GATED: frozenset[str] = frozenset({"suspend", "decision", "sent"})


def test_whatever_process_dies_at_whatever_point_each_act_moves_once(transactional_db: Any) -> None:
    orders = ["points:K:whole", "points:U:undone", "random:50:1"]
    lines = list(proving.play(orders))

    assert [line for line in lines if line["violations"]] == []
    for order, gated, acts in (("points:K:whole", GATED, 3), ("points:U:undone", frozenset(), 2)):
        singles = [line for line in lines if line["order"] == order]
        died_at = [death for line in singles for death in line["deaths"]]
        assert len(died_at) == len(singles)
        beats = {f"{beat}.{moment}_commit" for beat in ALWAYS | gated for moment in ("before", "after")}
        assert beats <= set(died_at) <= set(faults.POINTS)
        # Every pass of every point is one schedule, so each name has died as often as it is passed.
        assert died_at.count("outcome.before_commit") == died_at.count("vendor.before_call") == acts
    random = [line for line in lines if line["order"] == "random:50:1"]
    assert {line["name"] for line in random} == {f"1:{number}" for number in range(50)}
    assert len(random) == 50


def test_each_point_is_passed_by_an_enumerated_schedule_or_a_test_kills_there(transactional_db: Any) -> None:
    lines = list(proving.play([f"case:{name}" for name in proving.enumerated(long=False)]))
    assert [line for line in lines if line["violations"]] == []
    passed = {point for line in lines for point in line["trace"]}
    # A worker is killed over a late answer in `test_beats_beside`, the indexer in `test_indexing`, the maker of a
    # statement in `test_statement_killed`, everybody else in `test_dying_beside`.
    indexer = {"index.before_commit", "index.after_commit"}
    assert set(faults.POINTS) - passed == {*LATE, *BESIDE, *STATEMENT, *indexer}


def test_each_guard_taken_out_is_found_by_the_vendors_book(transactional_db: Any) -> None:
    row = proving.controls(lambda line: None)
    assert (row.tried, row.violations) == (len(CONTROLS), ())


def test_a_random_schedule_is_the_same_for_the_same_seed() -> None:
    assert [drawn(7, n) for n in range(30)] == [named(f"7:{n}") for n in range(30)]
    assert [drawn(7, n) for n in range(30)] != [drawn(8, n) for n in range(30)]


def test_an_enumerated_schedule_is_found_again_by_its_name() -> None:
    assert named("U-undone-lost-7") == at("U", "undone", 7, turn="lost")
    assert named("U-undone-lost-7").faults == TURNS["lost"].faults
    assert named("KN-undone-12-3").deaths == (12, 3)
    assert named("KN-undone-12-3").new_code
