"""The model can fail: a wrong world is called wrong, a missing way out is missed, and a bare row is no proof."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proof.model import oracle
from proof.model.case import Case
from proof.model.guards import Guard
from proof.model.prove import row_of_all, row_off, row_on
from proof.model.scenarios import KEYED, LAGGING, OPAQUE, SHOWS
from proof.model.search import Found, Steps, TooMany, moves, search
from proof.model.world import APPLIED, CANCELLED, FAILED, PENDING, Effect, Luck, Move, Movement, Run, World

PLAIN = Case("plain", KEYED, Luck())
PAID = Effect("run-1:pay", 0, "pay", False, 40, 40, APPLIED, sent=True, receipt=0)
ONE = Movement("run-1:pay", 40)


def world(*effects: Effect, book: tuple[Movement, ...], run: Run | None = None) -> World:
    return PLAIN.start()._replace(effects=effects, book=book, runs=(run or Run(),))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (world(PAID, book=(ONE, ONE)), "run-1:pay has happened 2 times"),
        (world(PAID, book=(ONE, Movement("run-1:pay~2", 40))), "run-1:pay has happened 2 times"),
        (world(book=(Movement("run-1:pay~2", 40),)), "nobody has said yes to that"),
        (world(book=(ONE._replace(stamp="though the run was held"),)), "though the run was held"),
        (world(PAID._replace(body=30), book=(ONE,)), "the ledger says run-1:pay moved 30"),
        (world(PAID, book=(Movement("run-1:tip", 40),)), "it has not happened itself"),
        (world(PAID._replace(state=FAILED), book=(ONE,)), "the ledger says that it was failed"),
        (
            world(PAID._replace(state=PENDING), book=(ONE,), run=Run(state=CANCELLED)),
            "its run had ended before that was known",
        ),
        (world(PAID, book=(Movement("run-1:pay:undo", 40), ONE)), "was undone, and had never happened"),
        (world(PAID, book=(ONE,), run=Run(back=True)), "progress went back"),
    ],
)
def test_a_wrong_world_is_called_wrong(bad: World, words: str) -> None:
    assert words in oracle.wrong(bad, PLAIN)


def test_a_right_world_is_not_called_wrong() -> None:
    assert oracle.wrong(world(PAID, book=(ONE,)), PLAIN) == ""


def test_the_purse_is_counted_by_the_vendors_book() -> None:
    rich = Case("purse", KEYED, Luck(), limit=40)
    tip = PAID._replace(key="run-1:tip", place="tip", receipt=1)
    spent = world(PAID, tip, book=(ONE, Movement("run-1:tip", 40)))

    assert oracle.wrong(spent, rich) == "80 was moved from a purse of 40"


def nobody(world: World, case: Case) -> Iterator[Move]:
    """A world in which no person ever settles a doubt."""
    return (move for move in moves(world, case) if not move[0].startswith("a person"))


def clockless(world: World, case: Case) -> Iterator[Move]:
    """A world in which no request is ever certainly dead."""
    return (move for move in moves(world, case) if "in flight any more" not in move[0])


@pytest.mark.parametrize("steps", [nobody, clockless])
def test_a_way_out_that_is_missing_is_found_as_a_dead_end(steps: Steps) -> None:
    case = Case("a lost answer", OPAQUE, Luck(lose=1))
    assert search(case).wrong == ""

    found = search(case, steps=steps)

    assert found.wrong.startswith("from here no end can be reached")
    assert found.story


def test_the_search_is_the_same_every_time() -> None:
    case = Case("a lost answer and a cancel", LAGGING, Luck(lose=1, cancel=1))

    assert search(case).worlds == search(case).worlds


def test_bounds_that_hold_too_many_worlds_are_refused() -> None:
    with pytest.raises(TooMany, match="more than 100 worlds"):
        search(SHOWS[Guard.FENCE], most=100)


def test_a_guard_that_can_be_taken_away_unpunished_is_a_violation() -> None:
    case = PLAIN.without(Guard.FENCE)

    assert row_off([Found(case, 9)]).violations == ("nothing goes wrong without FENCE",)
    assert row_off([Found(case, 9, "run-1:pay has happened 2 times", ("…",))]).sound


def test_a_wrong_world_with_all_guards_on_is_a_violation() -> None:
    assert row_on("effects", [Found(PLAIN, 9, "it moved twice", ("…",))]).violations == (
        "plain: it moved twice",
    )
    assert row_on("effects", [Found(PLAIN, 9)]).sound


def test_too_few_worlds_show_nothing() -> None:
    assert not row_of_all([Found(PLAIN, 99_999), Found(PLAIN, 100_000)], 1.0).sound
    assert row_of_all([Found(PLAIN, 100_000), Found(PLAIN, 100_000)], 1.0).sound
