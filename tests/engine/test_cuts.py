"""Whole periods of events go: their roots stay, what is left of a chain verifies, and whatever else went is missed."""

from __future__ import annotations

import psycopg
import pytest
from django.db import transaction

from durable.errors import Conflict, NotFound
from durable.models import Chain, Cut, LedgerEvent, Root, Run
from durable.roots.cutting import cut
from durable.roots.statement import parse
from tests.engine import rooted
from tests.engine.rooted import begun, file, forging, root_and_keep, said, tell, url

__all__ = ["file"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def runs() -> tuple[Run, Run]:
    """One that ended in the first period, and one that goes on; four roots of three events."""
    short, long = begun(), begun()
    tell(short, 2)
    tell(long, 10)
    root_and_keep(size=3)
    return short, long


def cut_up_to(number: int) -> Root:
    with transaction.atomic():
        made = cut(number)
    root_and_keep()
    return made


def delete(up_to: int) -> None:
    with forging() as wire:
        wire.execute("DELETE FROM durable_ledgerevent WHERE id <= %s", [up_to])


def found() -> list[str]:
    _, told = said("verify", "--anchors", str(rooted.kept()))
    return [line.removeprefix("FOUND ") for line in told.splitlines() if line.startswith("FOUND")]


def test_chains_whose_beginning_went_verify_before_during_and_after(runs: tuple[Run, Run]) -> None:
    short, long = runs
    made = cut_up_to(2)
    last = parse(made.statement).gone
    assert {(one.run_ref, one.no) for one in Cut.objects.all()} == {(short.ref, 2), (long.ref, 4)}
    assert found() == []
    delete(last - 2)
    assert found() == []
    delete(last)
    assert found() == []
    tell(short)  # its head has stayed
    tell(long)
    root_and_keep()
    assert found() == []
    assert "the 6 of periods that have gone are not there any more" in said("verify")[1]
    assert parse(Root.objects.get(number=2).statement).count == 3
    assert Chain.objects.get(run_ref=short.ref).no == 3


def test_a_second_cut_goes_on_from_the_first(runs: tuple[Run, Run]) -> None:
    delete(parse(cut_up_to(1).statement).gone)
    delete(parse(cut_up_to(3).statement).gone)
    assert found() == []
    assert list(Cut.objects.filter(run_ref=runs[1].ref).order_by("id").values_list("no", flat=True)) == [1, 7]
    with pytest.raises(Conflict, match="have gone already"):
        cut_up_to(2)


def test_what_went_beyond_the_cut_is_missed(runs: tuple[Run, Run]) -> None:
    last = parse(cut_up_to(2).statement).gone
    delete(last)
    beyond = LedgerEvent.objects.order_by("id").values_list("id", flat=True)[0]
    delete(beyond)
    assert found() == [
        f"{runs[1].ref} event 5: it is missing; the next that is there is 6",
        f"root 3: 2 events with the ids {beyond} to {beyond + 2} are there; it was made over 3",
    ]


@pytest.mark.parametrize(
    "change", ["SET no = no - 1", "SET hash = sha256('')", "SET run_ref = run_ref || 'x'"]
)
def test_a_cut_that_was_changed_is_found(runs: tuple[Run, Run], change: str) -> None:
    made = cut_up_to(2)
    delete(parse(made.statement).gone)
    with forging() as wire:
        wire.execute(f"UPDATE durable_cut {change} WHERE run_ref = '{runs[1].ref}'".encode())
    assert f"root {made.number}: the cuts of chains are not those that it was made over" in found()


def test_events_that_went_without_a_cut_are_missed(runs: tuple[Run, Run]) -> None:
    delete(LedgerEvent.objects.order_by("id").values_list("id", flat=True)[2])
    told = "\n".join(found())
    assert f"{runs[1].ref} event 1: it is missing" in told and "root 1: 0 events" in told


def test_only_a_root_over_events_can_be_cut(runs: tuple[Run, Run]) -> None:
    made = cut_up_to(1)
    with pytest.raises(NotFound, match="no root 99"):
        cut_up_to(99)
    with pytest.raises(Conflict, match="is a cut"):
        cut_up_to(made.number)


@pytest.mark.parametrize("who", ["application", "owner", "superuser"])
@pytest.mark.parametrize(
    "change",
    ["UPDATE durable_root SET last = last", "DELETE FROM durable_root", "TRUNCATE durable_root CASCADE",
     "UPDATE durable_cut SET no = no", "DELETE FROM durable_cut", "TRUNCATE durable_cut"],
)  # fmt: skip
def test_nobody_changes_deletes_or_empties_what_was_signed(
    runs: tuple[Run, Run], who: str, change: str
) -> None:
    cut_up_to(1)
    before = [list(model.objects.values()) for model in (Root, Cut)]
    with psycopg.connect(url(who)) as opened, pytest.raises(psycopg.errors.InsufficientPrivilege):
        opened.execute(change.encode())
    assert [list(model.objects.values()) for model in (Root, Cut)] == before
