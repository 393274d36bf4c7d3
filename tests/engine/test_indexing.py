"""The index that auditors search by: right after every change, however it is cut off, and made by nobody who acts."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from approvals.states import Verdict
from durable import faults, indexing, names, summary, verdicts
from durable.author import Next, RunContext, step
from durable.models import Effect, EffectCell, EffectGroup, Indexed, LedgerEvent, Run, SubjectName
from durable.states import RunState
from tests import factories
from tests.engine import agents, desk, people, scenes, tools
from tests.engine.scenes import WHY
from tests.vendors import Vendor

pytestmark = pytest.mark.django_db(transaction=True)

Sums = dict[tuple[Any, ...], tuple[int, int]]


def rows() -> Sums:
    """How many effects are alike and what they come to, counted one by one."""
    undone = set(
        Effect.objects.filter(state="applied", undo_of__isnull=False).values_list("undo_of_id", flat=True)
    )
    number: Counter[tuple[Any, ...]] = Counter()
    minor: Counter[tuple[Any, ...]] = Counter()
    for one in Effect.objects.select_related("run"):
        told = LedgerEvent.objects.filter(effect_key=one.key, kind__in=("approved", "rejected", "verdict"))
        deciders = tuple(sorted(set(told.values_list("actor", flat=True))))
        alike = (one.tool, one.vendor, one.run.agent, one.currency, one.state, one.undo_of_id is not None,
                 one.pk in undone, one.reason, deciders)  # fmt: skip
        number[alike] += 1
        minor[alike] += one.amount_minor or 0
    return {alike: (number[alike], minor[alike]) for alike in number}


def groups() -> Sums:
    """The same, as the groups say."""
    found = EffectGroup.objects.exclude(number=0).values_list(*summary.LIKENESS, "number", "minor")
    return {(*row[:-3], tuple(row[-3])): (row[-2], int(row[-1])) for row in found}


def cells() -> Sums:
    """The same, as the cells add up to."""
    names = [f"group__{name}" for name in summary.LIKENESS]
    found: dict[tuple[Any, ...], tuple[int, int]] = {}
    for row in EffectCell.objects.values_list(*names, "number", "minor"):
        alike = (*row[:-3], tuple(row[-3]))
        number, minor = found.get(alike, (0, 0))
        found[alike] = (number + row[-2], minor + int(row[-1]))
    return found


def caught_up() -> None:
    for _ in range(3):
        indexing.catch_up(60)
    newest = LedgerEvent.objects.order_by("-id")[0].pk
    assert Indexed.objects.get().done == newest
    assert groups() == cells() == rows()


def test_every_change_of_an_effect_is_counted_where_it_was_recorded(vendor: Vendor) -> None:
    run = desk.drive(scenes.refund(vendor, tools.wire_out))
    caught_up()
    assert {alike[4] for alike in groups()} == {"gated"}
    people.say(run)
    caught_up()
    desk.drive(run)
    caught_up()
    ((alike, sums),) = groups().items()
    assert (alike[0], alike[4], alike[8], sums) == ("wire_out", "applied", ("alice",), (1, 4000))


def test_what_is_settled_late_is_counted_right(vendor: Vendor) -> None:
    run = scenes.doubtful(vendor, landed=True)
    caught_up()
    assert {alike[4] for alike in groups()} == {"in doubt"}
    verdicts.happened(scenes.key(run), receipt_id="re_1", **WHY)
    caught_up()
    ((alike, _),) = groups().items()
    assert (alike[4], alike[8]) == ("applied", ("olga",))


def test_what_is_undone_later_counts_as_undone(vendor: Vendor) -> None:
    run = scenes.done(scenes.sku("MUG-BLUE"))
    caught_up()
    assert [alike[6] for alike in groups()] == [False]
    assert scenes.compensated(run).state == RunState.COMPENSATED
    caught_up()
    assert sorted((alike[5], alike[6]) for alike in groups()) == [(False, True), (True, False)]


def test_what_is_rejected_says_by_whom(vendor: Vendor) -> None:
    run = desk.drive(scenes.refund(vendor, tools.wire_out))
    people.say(run, Verdict.REJECT, by="bob")
    desk.drive(run)
    caught_up()
    ((alike, _),) = groups().items()
    assert (alike[4], alike[8]) == ("rejected", ("bob",))


def payments(number: int) -> Run:
    """A run that has paid so many orders."""

    @step
    def act(self: Any, run: RunContext) -> Next:
        for order in range(number):
            run.effect(agents.pay, order=f"order-{order}", amount=Decimal(1), currency="EUR")
        return None

    agents.define("Payer", act, budget=agents.Budget(money=agents.Money(1000, "EUR")))
    return desk.drive(agents.start("Payer"))


def test_stretch_by_stretch_comes_to_the_same_and_once_more_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(indexing, "STRETCH", 3)
    payments(12)
    caught_up()
    before = list(EffectCell.objects.order_by("id").values()), groups()
    Indexed.objects.update(done=0, mark=0)
    caught_up()
    assert (list(EffectCell.objects.order_by("id").values()), groups()) == before
    assert SubjectName.objects.count() == 12


@pytest.mark.parametrize("point", ["index.before_commit", "index.after_commit"])
def test_killed_in_the_middle_it_goes_on(point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "STRETCH", 5)
    payments(6)
    for _ in range(3):
        faults.arm(point, scenes.die)
        with pytest.raises(scenes.Killed):
            indexing.catch_up(60)
    faults.disarm_all()
    caught_up()


def test_an_effect_that_commits_after_newer_ones_were_indexed_is_not_missed() -> None:
    claim = factories.running()
    connection.set_autocommit(False)
    try:
        slow = factories.propose(claim, order="slow", amount="5", currency="EUR")

        def quick() -> None:
            factories.propose(factories.running(), order="quick", amount="7", currency="EUR")
            for _ in range(4):
                indexing.catch_up(60)

        desk.meanwhile(quick)
        assert [alike[1] for alike in groups().values()] == [700]
        newest = LedgerEvent.objects.exclude(effect_key=slow.key).order_by("-id")[0].pk
        assert Indexed.objects.get().done < newest
        connection.commit()
    finally:
        connection.set_autocommit(True)
    caught_up()
    assert [alike[1] for alike in groups().values()] == [1200]
    assert SubjectName.objects.count() == 2


def test_two_indexers_at_once_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "STRETCH", 4)
    payments(20)

    def work() -> None:
        for _ in range(8):
            indexing.catch_up(1)

    for thread in [desk.beside(work) for _ in range(2)]:
        thread.join()
    caught_up()


def test_one_that_has_nothing_to_do_asks_once() -> None:
    payments(1)
    caught_up()
    asked: list[str] = []
    with connection.execute_wrapper(lambda execute, sql, *more: (asked.append(sql), execute(sql, *more))[1]):
        assert indexing.catch_up() == 0
    assert len(asked) == 1


def test_what_can_not_be_indexed_is_logged_and_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    payments(1)
    monkeypatch.setattr(names, "named", lambda *_: 1 / 0)
    assert indexing.catch_up() == 0
    assert "ZeroDivisionError" in caplog.text
    monkeypatch.undo()
    caught_up()
