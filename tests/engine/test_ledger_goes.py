"""The ledger goes by whole sealed periods: verified, cut, kept outside, then deleted; and what is left verifies."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from approvals.models import Decision, Gate
from durable import holds, indexing, retention, summary, vault
from durable.models import Effect, LedgerEvent, RetentionPolicy, Root, Run, Sealed, Subject, SubjectName
from durable.models.fields import Clock
from durable.retention import passes, periods
from durable.roots import bundle, standalone
from durable.roots.cutting import cut
from durable.roots.reading import snapshot
from durable.roots.statement import parse
from durable.states import RunState
from tests import factories
from tests.approvals.answering import APPROVE, answer
from tests.engine.rooted import aged, file, forging, kept, root_and_keep, said, url

__all__ = ["file"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def own_tools(settings: Any) -> None:
    settings.INTERLOCK_AGENTS = ("tests.factories",)


def decided(order: str, by: User) -> Gate:
    """A gate that somebody has said yes at, of a run that has ended since."""
    gate = factories.gate(order=order)
    answer(by, gate, APPROVE, "it fits")
    ended(gate.effect.run)
    return gate


def ended(run: Run, days: int = 1_990) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE durable_effect SET state = 'withdrawn' WHERE run_id = %s", [run.pk])
        cursor.execute("UPDATE durable_wait SET state = 'withdrawn' WHERE run_id = %s", [run.pk])
    Run.objects.filter(pk=run.pk).update(
        state=RunState.COMPLETED.value, ended_at=Clock() - timedelta(days=days), lease_until=None, due_at=None
    )


@pytest.fixture
def ledger() -> tuple[Gate, Gate]:
    """Two decided gates of five years ago in a period of their own, and one of today; five years is what is kept."""
    alice = factories.person("alice")
    old, _ = decided("8812", alice), decided("8813", alice)
    aged(2_000)
    root_and_keep()
    new = decided("8812", alice)
    ended(new.effect.run, days=3)
    root_and_keep()
    indexing.catch_up(60)
    RetentionPolicy.objects.create(
        checkpoints=7, frozen=7, messages=30, payloads=365, ledger=1_800, actor="ada"
    )
    return old, new


def found() -> list[str]:
    _, told = said("verify", "--anchors", str(kept()))
    return [line for line in told.splitlines() if line.startswith("FOUND")]


def cuts() -> list[dict[str, Any]]:
    rows = LedgerEvent.objects.filter(run_ref="retention", kind="ledger cut").order_by("no")
    return [json.loads(row.body) for row in rows]


def test_what_is_too_old_goes_in_whole_periods_and_what_is_left_verifies(ledger: tuple[Gate, Gate]) -> None:
    old, new = ledger
    went = passes.daily()
    assert went.trouble == "" and went.effects == 2 and went.events > 4
    assert [one.key for one in Effect.objects.all()] == [new.effect.key]
    left = LedgerEvent.objects.filter(run_ref=old.effect.run.ref)
    assert [one.kind for one in left] == ["pruned"]  # which is of today
    assert Gate.objects.get().pk == new.pk and Decision.objects.get().gate_id == new.pk
    (cut,) = cuts()
    assert Root.objects.get(number=cut["root"]).statement.startswith("interlock-cut-1\n")
    assert f"interlock-cut-1\\nnumber: {cut['root']}" in kept().read_text()
    root_and_keep()
    assert found() == []
    assert periods.gone() == cut["gone"]


def test_what_was_sealed_for_it_is_emptied_whoever_has_destroyed_its_key(ledger: tuple[Gate, Gate]) -> None:
    run = ledger[0].effect.run
    vault.destroy(run)  # as an erasure does, which leaves the boxes that nobody can open
    assert Sealed.objects.filter(run=run).exclude(box=b"").exists()
    assert passes.daily().effects == 2
    assert Sealed.objects.filter(run=run).exists()
    assert not Sealed.objects.filter(run=run).exclude(box=b"").exists()


def test_search_and_sums_no_longer_know_what_has_gone(ledger: tuple[Gate, Gate]) -> None:
    subjects = set(Subject.objects.values_list("hash", flat=True))
    assert len(subjects) == 2 == SubjectName.objects.count()
    passes.daily()
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(number), sum(minor) FROM durable_effectgroup")
        assert cursor.fetchone() == (1, 18_450)
        cursor.execute("SELECT sum(number) FROM durable_effectcell")
        assert cursor.fetchone() == (1,)
    assert SubjectName.objects.count() == Subject.objects.values("hash").distinct().count() == 1
    assert summary.position()[0] <= summary.position()[1]


def test_a_bundle_of_what_is_left_verifies_without_our_code(
    ledger: tuple[Gate, Gate], tmp_path: Path
) -> None:
    passes.daily()
    root_and_keep()
    there = tmp_path / "bundle.zip"
    with snapshot() as wire, there.open("wb") as out:
        bundle.write(out, wire, runs=[ledger[1].effect.run.ref])
    assert zipfile.ZipFile(there).namelist()
    checked = subprocess.run(
        [sys.executable, standalone.__file__, str(there), "--anchors", str(kept())],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0 and "everything holds" in checked.stdout


@pytest.mark.parametrize("why", ["held", "under way", "in doubt", "parent of one under way", "may still act"])
def test_a_period_stays_that_something_still_stands_on(ledger: tuple[Gate, Gate], why: str) -> None:
    run = ledger[0].effect.run
    if why == "held":
        holds.set_on_run(run.ref, actor="rita", reason="a claim")
    elif why == "under way":
        Run.objects.filter(pk=run.pk).update(state=RunState.SUSPENDED.value)
    elif why == "in doubt":
        with connection.cursor() as cursor:
            cursor.execute("UPDATE durable_effect SET state = 'in doubt' WHERE run_id = %s", [run.pk])
    elif why == "may still act":  # it ended lately, long after most of what it did
        ended(run, days=3)
    else:
        Run.objects.filter(pk=factories.running().run_id).update(parent=run)
    retention.prune()
    assert periods.due(1_800) is None
    assert passes.daily().events == 0 and cuts() == []
    assert Effect.objects.count() == 3


@pytest.mark.parametrize(
    "why", ["a fork has been retried", "held", "under way", "it is kept for ever", "it is kept longer"]
)
def test_what_was_cut_stays_where_it_is_kept_again(
    ledger: tuple[Gate, Gate], monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    with monkeypatch.context() as away:
        away.setattr(periods, "_missing", lambda: "it is not kept outside yet")
        assert passes.daily().events == 0
    before = LedgerEvent.objects.count()
    assert len(cuts()) == 1
    if why == "a fork has been retried":
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE durable_sealkey SET wrapped = 'a key', destroyed_at = NULL WHERE run_id = %s",
                [ledger[0].effect.run_id],
            )
    elif why == "held":
        holds.set_on_run(ledger[0].effect.run.ref, actor="rita", reason="a claim")
        before += 1  # the act of it
    elif why == "under way":
        Run.objects.filter(pk=ledger[0].effect.run_id).update(state=RunState.SUSPENDED.value)
    else:
        longer = None if why == "it is kept for ever" else 2_500
        RetentionPolicy.objects.create(
            checkpoints=7, frozen=7, messages=30, payloads=365, ledger=longer, actor="ada"
        )
    went = periods.go()
    assert (went.events, LedgerEvent.objects.count()) == (0, before)
    assert "kept again" in went.trouble or why == "it is kept for ever"


def test_what_does_not_verify_does_not_go(ledger: tuple[Gate, Gate]) -> None:
    with psycopg.connect(url("superuser")) as hand:
        hand.execute("ALTER TABLE durable_ledgerevent DISABLE TRIGGER ALL")
        hand.execute(
            "UPDATE durable_ledgerevent SET actor = 'mallory' WHERE id = (SELECT min(id) FROM durable_ledgerevent)"
        )
        hand.execute("ALTER TABLE durable_ledgerevent ENABLE TRIGGER ALL")
        for trigger in ("chain_event", "only_grows", "goes_by_cut", "never_emptied"):
            hand.execute(f"ALTER TABLE durable_ledgerevent ENABLE ALWAYS TRIGGER {trigger}".encode())
    went = passes.daily()
    assert "does not verify" in went.trouble and went.events == 0 and cuts() == []


def test_nothing_goes_before_its_receipt_is_kept_outside(ledger: tuple[Gate, Gate], settings: Any) -> None:
    settings.INTERLOCK_ANCHOR_FILE = "/proc/nowhere/roots.jsonl"
    went = passes.daily()
    assert len(cuts()) == 1 and went.events == 0 and went.ended_at is None


def test_nothing_goes_by_a_cut_that_nobody_of_ours_has_signed(ledger: tuple[Gate, Gate]) -> None:
    """The database takes none; where a superuser has put one past its guards, whoever deletes looks all the same."""
    with forging() as hand:
        row = hand.execute("SELECT statement FROM durable_root ORDER BY number DESC LIMIT 1").fetchone()
        assert row is not None
        newest = parse(row[0])
        forged = replace(newest, number=newest.number + 1, first=0, last=0, gone=newest.last)
        hand.execute(
            "INSERT INTO durable_root (number, last, statement, signature) VALUES (%s, %s, %s, '')",
            [forged.number, newest.last, forged.text()],
        )
    before = LedgerEvent.objects.filter(kind="proposed").count()
    assert periods.gone() == newest.last
    went = periods.go()
    assert "not signed by a key of ours" in went.trouble and went.events == 0
    assert LedgerEvent.objects.filter(kind="proposed").count() == before


def test_young_events_stay_whatever_a_cut_says(ledger: tuple[Gate, Gate]) -> None:
    passes.daily()
    root_and_keep()
    with transaction.atomic():
        cut(Root.objects.exclude(statement__startswith="interlock-cut").latest("number").number)
    assert periods.gone() > 0
    with (
        psycopg.connect(url("application")) as hand,
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="twelve months"),
    ):
        hand.execute(
            "SELECT durable_let_events_go(ARRAY(SELECT id FROM durable_ledgerevent WHERE id <= %s))",
            [periods.gone()],
        )


@pytest.mark.parametrize("who", ["application", "owner", "superuser"])
@pytest.mark.parametrize(
    "change",
    ["DELETE FROM durable_ledgerevent", "SELECT durable_let_events_go(ARRAY(SELECT id FROM durable_ledgerevent))",
     "UPDATE durable_ledgerevent SET at = at", "DELETE FROM approvals_decision",
     "WITH g AS (DELETE FROM approvals_decision) DELETE FROM approvals_gate"],
)  # fmt: skip
def test_nothing_else_goes_before_or_after_a_cut(ledger: tuple[Gate, Gate], who: str, change: str) -> None:
    passes.daily()
    before = LedgerEvent.objects.count(), Decision.objects.count()
    with psycopg.connect(url(who)) as hand, pytest.raises(psycopg.errors.InsufficientPrivilege):
        hand.execute(change.encode())
    assert (LedgerEvent.objects.count(), Decision.objects.count()) == before


def test_an_effect_that_straddles_the_cut_stays_and_verifies(ledger: tuple[Gate, Gate]) -> None:
    """Its first events went with their period; its last stand in a later one."""
    run = ledger[0].effect.run
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body) "
            "VALUES (%s, 'withdrawn', %s, 'olga', '{}')", [run.ref, ledger[0].effect.key],
        )  # fmt: skip
    root_and_keep()
    assert passes.daily().effects == 1
    root_and_keep()
    assert Effect.objects.filter(run=run).exists() and found() == []
