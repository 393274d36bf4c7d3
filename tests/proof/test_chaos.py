"""Chaos in its short form: real processes, a few kinds of fault, the whole history judged."""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest

from proof.chaos import marks
from proof.chaos.history import History
from proof.chaos.kinds import KINDS, named, shuffled
from proof.chaos.nemesis import Strike
from proof.chaos.play import FEW, check_the_check, prove
from proof.chaos.world import World
from proof.stage import stage

KIND, OTHER = "worker killed", "beat killed"


@pytest.mark.process
def test_under_a_few_faults_nothing_moves_twice_and_nothing_is_lost() -> None:
    said: list[str] = []

    rows = prove(said.append, seconds=12, seed=1, kinds=FEW, short=True, control=False)

    assert [row for row in rows if not row.sound] == [], "\n".join(said)


@pytest.mark.process
def test_without_its_lookup_the_check_of_chaos_finds_money_that_moved_twice() -> None:
    said: list[str] = []

    row = check_the_check(said.append, seed=1)

    assert row.sound, "\n".join([*row.violations, *said])


def events(*kinds: str) -> History:
    return History(events=[{"kind": kind, "body": "{}"} for kind in kinds])


EVENTFUL = events("looked up", "adopted", "attempt lost", "late answer")
EVENTFUL.notes = [{"kind": "refused", "status": 409}]
HIT = [Strike(KIND, claimed=2, sent=1), Strike(OTHER, claimed=1, sent=1)]


def test_chaos_that_hit_every_kind_in_mid_effect_and_saw_all_marks_counts() -> None:
    assert marks.too_little(marks.of(EVENTFUL), HIT, [KIND, OTHER], short=False) == []


def test_chaos_that_hit_nobody_in_mid_effect_does_not_count() -> None:
    idle = [Strike(KIND, claimed=2, sent=1), Strike(OTHER, claimed=1, sent=0)]

    (sentence,) = marks.too_little(marks.of(EVENTFUL), idle, [KIND, OTHER], short=False)

    assert sentence == f"did not count: in mid-effect nobody was hit by {OTHER}"


def test_chaos_that_never_came_to_a_kind_does_not_count() -> None:
    found = marks.too_little(marks.of(EVENTFUL), HIT[:1], [KIND, OTHER], short=False)

    assert f"did not count: it never came to {OTHER}" in found


@pytest.mark.parametrize("missing", ["adopted", "attempt lost", "late answer"])
def test_chaos_in_which_nothing_had_to_be_put_right_does_not_count(missing: str) -> None:
    quiet = events(*({"looked up", "adopted", "attempt lost", "late answer"} - {missing}))
    quiet.notes = EVENTFUL.notes

    assert len(marks.too_little(marks.of(quiet), HIT, [KIND, OTHER], short=False)) == 1


def test_chaos_in_which_no_decision_lost_to_another_counts_in_its_short_form_alone() -> None:
    alone = events("looked up", "adopted", "attempt lost", "late answer")

    assert marks.too_little(marks.of(alone), HIT, [KIND, OTHER], short=True) == []
    (sentence,) = marks.too_little(marks.of(alone), HIT, [KIND, OTHER], short=False)
    assert sentence == "did not count: it has not seen a decision lost to another"


def test_a_seed_gives_the_same_order_again_and_every_kind_has_a_name_of_its_own() -> None:
    assert shuffled(KINDS, random.Random(7)) == shuffled(KINDS, random.Random(7))
    assert len({kind.name for kind in KINDS}) == len(KINDS) > 20


@pytest.mark.process
def test_a_part_that_ends_without_having_been_struck_is_told_of() -> None:
    with stage() as on:
        services: Any = None  # neither database nor broker has a part in this
        made = World(services, on)
        made.children = {"beat": on.start((sys.executable, "-c", "")), "web": on.start(("sleep", "60"))}
        made.children["beat"].wait(30)

        for part in ("beat", "web"):
            made.kill(part)

        assert made.died == ["beat ended by itself, with 0"]


def test_a_kind_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no kind of fault begins with 'flood'"):
        named("flood")
