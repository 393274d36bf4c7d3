"""Every race on real connections, each with its control; and what the harness says of a race that is not sound."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from approvals.people import demo_people
from durable import plan
from durable.errors import Conflict
from local.vendor import Vendor as Stranger
from proof import races
from proof.races import harness
from proof.races.ground import Ground, people
from proof.races.harness import Beaten, Control, Played, Race
from tests.vendors import Vendor

ROUNDS = 100
RACES = {race.name: race for race in races.races()}


@pytest.fixture
def ground(vendor: Vendor, transactional_db: None, caplog: pytest.LogCaptureFixture) -> Iterator[Ground]:
    """The session's stand-in, and people who decide."""
    caplog.set_level(logging.WARNING)  # thousands of requests, each told twice
    caplog.set_level(logging.WARNING, logger="stripe")
    known = dict(plan.agents())
    demo_people()
    yield Ground(Stranger(vendor.url), people())
    plan._agents.clear()
    plan._agents.update(known)


@pytest.mark.process
@pytest.mark.parametrize("name", RACES)
def test_a_race_has_one_winner_and_without_its_guard_the_damage_is_seen(name: str, ground: Ground) -> None:
    row = harness.prove(RACES[name], ground, ROUNDS)
    assert row.violations == (), row.remark
    assert row.tried == ROUNDS


@pytest.mark.process
@pytest.mark.usefixtures("transactional_db")
def test_races_are_told_in_a_row_each_whichever_process_has_run_them(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["two beats", "last unit of a budget among 8", "same start key twice"]
    monkeypatch.setattr(races, "races", lambda: [RACES[name] for name in names])
    known = dict(plan.agents())
    told: list[str] = []
    rows = races.prove(told.append, rounds=10)
    plan._agents.clear()
    plan._agents.update(known)
    assert {row.what: (row.tried, row.violations) for row in rows} == dict.fromkeys(names, (10, ()))
    assert [line.split(":")[0] for line in told] == [f"race {row.what}" for row in rows]
    assert all("damage in round" in row.remark for row in rows)


# The harness itself


def _numbers(ground: Ground, rounds: int) -> Sequence[int]:
    return range(rounds)


def _both_won(ground: Ground, played: Sequence[Played]) -> Iterator[str]:
    for one in played:
        if len(one.winners) != 1:
            yield f"{' and '.join(one.winners)} won round {one.item}"


def _race(**parts: Any) -> Race:
    """A race without rows, in which the left side always wins, unless `parts` say otherwise."""
    whole: dict[str, Any] = {
        "name": "left/right",
        "prepare": _numbers,
        "contenders": {"left": lambda _: None, "right": _loses},
        "judge": _both_won,
        "control": Control("nothing", nullcontext, {"left": lambda _: None, "right": lambda _: None}),
    }
    return Race(**{**whole, **parts})


def _loses(_: int) -> None:
    raise Conflict("left was first")


def _breaks(_: int) -> None:
    raise ZeroDivisionError("of its own")


@pytest.fixture
def bare() -> Ground:
    """For races that need neither vendor nor people."""
    nobody: Any = None
    return Ground(nobody, nobody)


@pytest.mark.django_db(transaction=True)
def test_a_sound_race_is_told_with_the_way_it_went_and_what_its_control_has_shown(bare: Ground) -> None:
    row = harness.prove(_race(), bare, 10)
    assert row.sound
    assert row.remark == "left 10; without nothing: damage in round 1 (left and right won round 0)"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"contenders": {"left": lambda _: None, "right": lambda _: None}}, "left and right won round 3"),
        ({"contenders": {"left": lambda _: None, "right": _breaks}}, "right: ZeroDivisionError: of its own"),
        ({"control": Control("its guard", nullcontext)}, "its control shows nothing: without its guard"),
        ({"sides": {"left": "left", "right": "right"}}, "it never went the way of 'right'"),
    ],
    ids=["two winners", "an error nobody had foreseen", "a control without damage", "one way only"],
)
def test_a_race_is_unsound_with(parts: dict[str, Any], sentence: str, bare: Ground) -> None:
    row = harness.prove(_race(**parts), bare, 60)
    assert not row.sound
    assert any(sentence in violation for violation in row.violations), row.violations


@pytest.mark.django_db(transaction=True)
def test_a_control_that_a_second_guard_stops_has_shown_no_damage(bare: Ground) -> None:
    stopped = Control("its guard", nullcontext, {"left": lambda _: None, "right": _breaks})
    race = replace(_race(), judge=lambda *_: ["it looks like damage"], control=stopped)
    assert harness.damage(race, bare, 10) is None


@pytest.mark.process
@pytest.mark.django_db(transaction=True)
def test_both_ways_are_met_where_one_side_is_slower(bare: Ground) -> None:
    """Who was ahead is held back a little, so that the rounds gather where the race is undecided."""
    first: list[int] = []
    lock = threading.Lock()

    def take(number: int) -> None:
        with lock:
            if number in first:
                raise Beaten("somebody was first")
            first.append(number)

    def slowly(number: int) -> None:
        time.sleep(0.01)
        take(number)

    sides = {"quick": "quick", "slow": "slow"}
    race = _race(contenders={"quick": take, "slow": slowly}, sides=sides)
    played = harness.play(race, bare, 60, race.contenders)
    assert min(sum(one.side == side for one in played) for side in sides) >= 5
