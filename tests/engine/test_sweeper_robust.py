"""The sweeper is fair: what fails or takes long hides nothing behind it, and what is at rest costs no sweep more."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from durable import fairly, recovery, waits
from durable.author import Absent, Call, CannotSay, LookupAnswer
from durable.models import Effect, Run, Wait
from tests.engine import agents, desk
from tests.engine.resting import napping

pytestmark = pytest.mark.django_db(transaction=True)


class Watch:
    """The sweeper's clock, which moves when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    monkeypatch.setattr(fairly, "clock", SimpleNamespace(elapsed=watch))
    return watch


@pytest.fixture(autouse=True)
def _no_memory() -> Iterator[None]:
    """A sweeper that has just begun."""
    fairly._failed.clear()
    recovery._walked.clear()
    yield
    recovery._walked.clear()


def nappers(count: int) -> list[Run]:
    return [napping() for _ in range(count)]


class Broken:
    """Waits of some runs can't be resolved; each try costs so many seconds."""

    def __init__(
        self, bad: list[Run], watch: Watch, monkeypatch: pytest.MonkeyPatch, cost: float = 0
    ) -> None:
        self.bad, self.tried = {run.pk for run in bad}, 0
        resolve = waits.resolve

        def picky(run: Run, *args: Any, **more: Any) -> bool:
            if run.pk not in self.bad:
                return resolve(run, *args, **more)
            self.tried += 1
            watch.now += cost
            raise RuntimeError("no")

        monkeypatch.setattr(waits, "resolve", picky)


def states(runs: list[Run]) -> list[str]:
    return list(
        Run.objects.filter(pk__in=[run.pk for run in runs]).order_by("id").values_list("state", flat=True)
    )


# What fails.


def test_a_page_of_failures_hides_nothing_behind_it(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    *bad, good = nappers(6)
    monkeypatch.setattr(fairly, "PAGE", 2)
    broken = Broken(bad, watch, monkeypatch)
    desk.time_passes(hours=1)
    assert recovery.sweep()["waits"] == 6
    assert states([good]) == ["queued"] and broken.tried == 5


def test_failures_that_eat_a_whole_sweeps_time_let_the_rest_through_in_the_next(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, good = nappers(3)
    broken = Broken([first, second], watch, monkeypatch, cost=fairly.TIME)
    desk.time_passes(hours=1)
    assert recovery.sweep()["waits"] == 1
    watch.now = 0.1
    for _ in range(2):
        recovery.sweep()
        watch.now -= fairly.TIME
    assert states([good]) == ["queued"] and broken.tried == 2


def test_what_failed_is_tried_again_ever_more_rarely_and_done_once_it_can_be(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bad,) = nappers(1)
    broken = Broken([bad], watch, monkeypatch)
    desk.time_passes(hours=1)
    for second in range(3600):
        watch.now = float(second)
        if not fairly._aside("waits"):
            recovery.sweep()
    assert 15 < broken.tried < 35
    broken.bad.clear()
    watch.now += 301
    recovery.sweep()
    assert states([bad]) == ["queued"]


# Runs at rest.


def test_a_sweep_looks_through_a_stretch_of_the_runs_at_rest_and_the_next_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recovery, "STRETCH", 2)
    runs = nappers(5)
    Wait.objects.filter(run=runs[4]).update(state="resolved")
    assert [recovery.sweep()["lonely"] for _ in range(3)] == [0, 0, 1]
    Wait.objects.filter(run=runs[0]).update(state="resolved")
    assert [recovery.sweep()["lonely"] for _ in range(2)] == [1, 0]
    assert states(runs) == ["queued", *["suspended"] * 3, "queued"]


def test_a_sweep_asks_as_much_for_forty_runs_at_rest_as_for_two() -> None:
    nappers(2)
    recovery.sweep()
    costs = []
    for more in (0, 38):
        nappers(more)
        with CaptureQueriesContext(connection) as queries:
            recovery.sweep()
        costs.append(len(queries))
    assert costs[0] == costs[1]


# Effects in doubt.


@pytest.fixture
def look_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Keys that the vendor was asked about. It shows nothing of ours."""
    looked: list[str] = []

    def find(call: Call) -> LookupAnswer:
        looked.append(call.key)
        return Absent()

    monkeypatch.setattr(agents.pay, "lookup_function", find)
    yield looked


def doubts(count: int) -> list[Effect]:
    """Effects in doubt, due for a look in the order of their making."""
    for _ in range(count):
        desk.drive(agents.start("Walker"))
    found = list(Effect.objects.order_by("id"))
    Effect.objects.update(state="in doubt", open_sends=1)
    for effect in found:
        Effect.objects.filter(pk=effect.pk).update(next_look_at=effect.recorded_at)
    return found


def test_look_ups_have_their_time_in_a_sweep_and_the_next_goes_on_with_the_oldest(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def slow(call: Call) -> LookupAnswer:
        looked.append(call.key)
        watch.now += 3
        return Absent()

    monkeypatch.setattr(agents.pay, "lookup_function", slow)
    keys = [effect.key for effect in doubts(5)]
    for seen in (2, 4, 5, 5):
        recovery.sweep()
        assert looked == keys[:seen]


def test_an_effect_in_doubt_is_looked_up_ever_more_rarely(look_up: list[str]) -> None:
    doubts(1)
    for _ in range(60):
        recovery.sweep()
        desk.time_passes(minutes=1)
    assert 10 < len(look_up) < 40
    later = Effect.objects.get()
    assert later.state == "in doubt" and later.looks == len(look_up)


def test_a_vendor_that_can_not_say_is_asked_once_a_sweep_and_the_others_are_asked_all_the_same(
    monkeypatch: pytest.MonkeyPatch, look_up: list[str]
) -> None:
    monkeypatch.setattr(agents.pay, "lookup_function", cannot_say(look_up))
    mine = doubts(4)
    Effect.objects.filter(pk=mine[-1].pk).update(vendor="another")
    recovery.sweep()
    assert look_up == [mine[0].key, mine[-1].key]
    recovery.sweep()
    assert look_up[2:] == [mine[1].key]


def cannot_say(looked: list[str]) -> Any:
    def find(call: Call) -> LookupAnswer:
        looked.append(call.key)
        raise CannotSay("503")

    return find
