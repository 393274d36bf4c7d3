"""The ledger only grows: the database itself says so, to everybody; and what stands in it can be checked by anyone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import psycopg
import psycopg.rows
import pytest
from django.core import mail
from django.db import transaction

from approvals.states import Verdict
from durable import journal, vault
from durable.models import Chain, Effect, EventDetail, LedgerEvent, Run, Sealed, Subject
from durable.states import EventKind, RunState
from durable.transitions import lock_run
from tests.engine import desk, held, people, tools
from tests.engine.rooted import url
from tests.together import at_once
from tests.vendors import Vendor

pytestmark = pytest.mark.usefixtures("kit")
TABLES = ("durable_ledgerevent", "durable_chain")


@pytest.fixture
def run(vendor: Vendor) -> Run:
    """A run with a story: applied, rejected, failed."""
    tools.asks(
        (tools.keyed, {"charge": tools.charge(vendor), "amount": "40.00"}),
        (tools.letter, {"to": "ada@example.org"}),
    )
    run = desk.drive(tools.start())
    people.say(run, Verdict.REJECT, words="Ada Lovelace has been written to already")
    return desk.drive(run)


@pytest.fixture
def admin() -> Iterator[psycopg.Connection]:
    with psycopg.connect(url("superuser"), autocommit=True) as opened:
        yield opened


@pytest.mark.parametrize("who", ["application", "owner", "superuser"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "change", ["UPDATE {} SET run_ref = run_ref", "DELETE FROM {}", "TRUNCATE {} CASCADE"]
)
def test_nobody_changes_deletes_or_empties_the_ledger(run: Run, who: str, table: str, change: str) -> None:
    before = list(LedgerEvent.objects.order_by("id").values())
    with psycopg.connect(url(who)) as opened, pytest.raises(psycopg.errors.InsufficientPrivilege):
        opened.execute(change.format(table))
    assert list(LedgerEvent.objects.order_by("id").values()) == before


def test_even_a_replica_session_does_not_pass_the_guards(run: Run, admin: psycopg.Connection) -> None:
    admin.execute("SET session_replication_role = replica")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        admin.execute("DELETE FROM durable_ledgerevent")


def test_the_head_of_a_chain_is_moved_by_events_alone(run: Run) -> None:
    for who in ("application", "owner"):
        with psycopg.connect(url(who)) as opened, pytest.raises(psycopg.errors.InsufficientPrivilege):
            opened.execute("INSERT INTO durable_chain (run_ref, no, head) VALUES ('run-forged', 7, '')")


def test_number_time_and_hash_are_the_databases_own_whatever_is_inserted(run: Run) -> None:
    last = LedgerEvent.objects.filter(run_ref=run.ref).order_by("-no")[0]
    with psycopg.connect(url("application"), autocommit=True) as opened:
        opened.execute(
            "INSERT INTO durable_ledgerevent (run_ref, no, kind, effect_key, actor, body, at, hash)"
            " VALUES (%s, 1, 'held', '', 'x', '{}', '2001-01-01', 'forged')",
            [run.ref],
        )
    added = LedgerEvent.objects.filter(run_ref=run.ref).order_by("-no")[0]
    assert added.no == last.no + 1 and added.at > last.at
    held.check_chains()


@pytest.mark.parametrize("column", ["run_ref", "kind", "effect_key", "actor", "body"])
def test_no_line_break_can_make_two_events_read_as_one(run: Run, column: str) -> None:
    row = {"run_ref": run.ref, "kind": "held", "effect_key": "", "actor": "x", "body": "{}"}
    row[column] += "\n"
    with psycopg.connect(url("application")) as opened, pytest.raises(psycopg.errors.CheckViolation):
        opened.execute(
            "INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body)"
            " VALUES (%(run_ref)s, %(kind)s, %(effect_key)s, %(actor)s, %(body)s)",
            row,
        )


def test_the_chain_recomputed_from_the_rows_is_the_one_that_is_stored(run: Run) -> None:
    hashes = held.chain_of(run.ref)
    assert len(hashes) > 7
    assert [bytes(e.hash) for e in journal.events(run.ref)] == hashes
    assert bytes(Chain.objects.get(run_ref=run.ref).head) == hashes[-1]


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE durable_ledgerevent SET body = '{}' WHERE no = 2",
        "UPDATE durable_ledgerevent SET at = at - interval '1 day' WHERE no = 3",
        "UPDATE durable_ledgerevent SET actor = 'somebody' WHERE no = 1",
        "DELETE FROM durable_ledgerevent WHERE no = (SELECT max(no) FROM durable_ledgerevent)",
        "UPDATE durable_ledgerevent SET no = 1000 - no",
    ],
)
def test_a_superuser_who_takes_the_guards_away_is_found_out(
    run: Run, admin: psycopg.Connection, tampering: str
) -> None:
    def check() -> None:
        rows = admin.cursor(row_factory=psycopg.rows.dict_row)
        rows.execute("SELECT * FROM durable_ledgerevent WHERE run_ref = %s ORDER BY no", [run.ref])
        heads = admin.execute("SELECT no, head FROM durable_chain WHERE run_ref = %s", [run.ref])
        ((no, head),) = heads.fetchall()
        held.check_chain(rows.fetchall(), no, head)

    check()
    admin.execute("BEGIN")
    for guard in ("only_grows", "goes_by_cut"):
        admin.execute(f"ALTER TABLE durable_ledgerevent DISABLE TRIGGER {guard}".encode())
    admin.execute(tampering)
    with pytest.raises(AssertionError):
        check()
    admin.execute("ROLLBACK")


def test_writers_of_one_run_at_the_same_moment_make_one_chain(run: Run) -> None:
    def write(name: str) -> None:
        for _ in range(10):
            with transaction.atomic():
                journal.record(lock_run(run.ref), EventKind.HELD, actor=name, words="why")

    at_once(*(partial(write, f"w{n}") for n in range(4)))
    held.check_chains()
    assert LedgerEvent.objects.filter(run_ref=run.ref, kind="held").count() == 40


# Personal data.

SECRETS = ("Lovelace", "ada@", "ord-zq7x", "cus_zq7x", "broken mug", "sounds right")


@pytest.fixture
def story(vendor: Vendor) -> Run:
    """The refund desk at work for a customer, her letter let out by a reviewer with a comment."""
    charge = vendor.seed_charge("140.00")
    vendor.seed_order(
        "ord-zq7x-Lovelace", "140.00", charge=charge, customer="cus_zq7x", email="ada@example.org"
    )
    run = desk.start("ord-zq7x-Lovelace", text="My broken mug", reply_to="ada@example.org")
    for _ in range(2):
        desk.drive(run)
        people.say(run, words="sounds right, says Lovelace")
    assert desk.drive(run).state == RunState.COMPLETED
    assert len(mail.outbox) == 1
    return run


def test_no_row_that_cannot_change_names_anybody(story: Run) -> None:
    rows = [*LedgerEvent.objects.values(), *Chain.objects.values()]
    assert len(rows) > 10
    for row in rows:
        for name in SECRETS:
            assert name.lower() not in repr(row).lower(), f"{name} stands in {row}"


def test_the_search_index_and_what_is_sealed_name_nobody_either(story: Run) -> None:
    effects = Effect.objects.filter(run=story).values()
    for row in [*Subject.objects.values(), *Sealed.objects.values(), *effects]:
        shown = repr({name: bytes(v) if isinstance(v, memoryview) else v for name, v in row.items()})
        for name in SECRETS:
            assert name.lower() not in shown.lower(), f"{name} stands in {row}"


def test_what_is_sealed_reads_until_its_key_is_destroyed_and_never_after(story: Run) -> None:
    sealed = list(Sealed.objects.filter(run=story))
    assert any("Lovelace" in json.dumps(vault.read(one)) for one in sealed)
    hashes = held.chain_of(story.ref)
    vault.destroy(story)
    for one in sealed:
        with pytest.raises(vault.Erased):
            vault.read(one)
    held.check_chains()
    assert held.chain_of(story.ref) == hashes
    assert EventDetail.objects.filter(event__run_ref=story.ref).exists()


def test_sealed_data_that_was_swapped_does_not_open(story: Run) -> None:
    first, second = Sealed.objects.filter(run=story).order_by("id")[:2]
    Sealed.objects.filter(pk=first.pk).update(box=second.box)
    first.refresh_from_db()
    with pytest.raises(vault.Tampered):
        vault.read(first)


def test_an_events_words_are_bound_to_it_by_their_digest(story: Run) -> None:
    detail = EventDetail.objects.filter(event__kind="approved").select_related("event", "sealed").first()
    assert detail is not None
    assert json.loads(detail.event.body)["words"] == detail.sealed.digest


def test_events_bear_the_moment_at_which_they_became_true(story: Run) -> None:
    told = journal.events(story.ref)
    assert all(a.at < b.at for a, b in pairwise(told))
    assert abs(told[-1].at.timestamp() - time.time()) < 60
