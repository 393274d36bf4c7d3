"""The day's pass: once a day whatever is asked how often, gone on with where it was cut off, and on record."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import connection

from durable import holds, retention
from durable.models import Checkpoint, LedgerEvent, LegalHold, RetentionPass, Stored
from durable.retention import passes, storage
from tests.engine.resting import ended

pytestmark = pytest.mark.django_db(transaction=True)


def told() -> list[dict[str, int]]:
    found = LedgerEvent.objects.filter(run_ref="retention", kind="retention passed").order_by("no")
    return [json.loads(one.body)["gone"] for one in found]


def yesterday() -> None:
    """Let today's pass have been yesterday's."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE durable_retentionpass SET day = day - 1")
        cursor.execute("UPDATE durable_stored SET day = day - 1")


def test_a_day_has_one_pass_however_often_beat_asks() -> None:
    ended(3)
    first = passes.daily()
    assert (first.runs, first.checkpoints) == (3, 6) and first.ended_at is not None
    ended(2)  # what falls due meanwhile waits for the next day
    for _ in range(96):
        passes.daily()
    assert RetentionPass.objects.count() == 1 and len(told()) == 1
    yesterday()
    assert passes.daily().checkpoints == 4
    assert [gone["checkpoints"] for gone in told()] == [6, 4]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Pacific/Apia"])
def test_a_day_whose_clocks_change_has_one_pass_too(zone: str) -> None:
    """A day is one of UTC by the database's clock, whatever zone anybody's session or process is in."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('timezone', %s, false)", [zone])
    try:
        passes.daily()
        passes.daily()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT day = (clock_timestamp() AT TIME ZONE 'UTC')::date FROM durable_retentionpass"
            )
            assert cursor.fetchall() == [(True,)]
    finally:
        connection.close()


def test_a_pass_whose_time_was_over_goes_on_when_it_is_asked_for_again() -> None:
    runs = ended(3)
    assert passes.daily(within=timedelta(0)).ended_at is None
    assert sum(Checkpoint.objects.filter(run=run).count() == 1 for run in runs) == 1
    again = passes.daily()
    assert (again.runs, again.checkpoints) == (3, 6) and again.ended_at is not None
    assert len(told()) == 1


def test_a_pass_that_finds_nothing_is_told_all_the_same() -> None:
    passes.daily()
    assert told() == [
        dict.fromkeys(("runs", "checkpoints", "frozen", "messages", "payloads", "effects", "events"), 0)
    ]


def test_the_room_that_everything_takes_is_noted_once_a_day() -> None:
    passes.daily()
    passes.daily()
    rows = Stored.objects.count()
    assert rows == len(storage.TABLES) + 1
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c "
            "WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
        )
        size = int(cursor.fetchone()[0])
    assert abs(sum(one.bytes for one in Stored.objects.all()) - size) < size * 0.2
    yesterday()
    passes.daily()
    assert len(storage.by_day(90)) == 2


def test_pruning_by_hand_counts_in_no_pass() -> None:
    ended(1)
    assert retention.prune(actor="ada", reason="tidy").runs == 1
    assert not RetentionPass.objects.exists()


def test_a_pass_that_can_not_tell_what_is_held_says_so_and_is_gone_on_with() -> None:
    ended(1)
    hold = holds.set_on_search("order:8812", actor="rita", reason="a claim")
    LegalHold.objects.filter(pk=hold.pk).update(
        box=holds._box(hold.pk, holds.Words("a claim", "amount:lots"))
    )
    stopped = passes.daily()
    assert stopped.ended_at is None and "legal hold" in stopped.trouble and told() == []
    holds.lift(hold.pk, actor="rita", reason="settled")
    gone_on = passes.daily()
    assert gone_on.ended_at is not None and (gone_on.checkpoints, gone_on.trouble) == (2, "")
