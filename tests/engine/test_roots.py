"""Roots are made over what is complete, signed, each naming the one before; writers and builder never meet."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.conf import settings
from django.db import connections

from durable import tasks
from durable.models import LedgerEvent, Mark, Root
from durable.roots import builder, horizon, signing
from tests.engine import rooted
from tests.engine.rooted import INSERT, begun, elsewhere, file, statements, tell
from tests.together import at_once

__all__ = ["file"]

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def test_every_event_stands_in_one_root_whose_hash_is_that_of_the_definition() -> None:
    one, other = begun(), begun()
    tell(one, 4)
    tell(other, 3)
    tell(one, 3)
    assert builder.build(size=4) == 3
    found = statements()
    ids = list(LedgerEvent.objects.order_by("id").values_list("id", flat=True))
    assert [(s.number, s.first, s.last, s.count) for s in found] == [
        (1, ids[0], ids[3], 4),
        (2, ids[4], ids[7], 4),
        (3, ids[8], ids[9], 2),
    ]
    assert [s.hash for s in found] == [rooted.mth_of(s) for s in found]


def test_a_root_is_signed_and_names_the_one_before_by_its_hash() -> None:
    tell(begun(), 5)
    builder.build(size=2)
    before = "0" * 64
    for row in Root.objects.order_by("number"):
        facts = dict(line.split(": ") for line in row.statement.split("\n")[1:])
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(facts["key"]))
        public.verify(bytes(row.signature), row.statement.encode())  # raises where it is not so
        assert facts["previous"] == before
        before = hashlib.sha256(row.statement.encode()).hexdigest()
    assert Root.objects.count() == 3


def test_no_root_is_made_where_nothing_is_new() -> None:
    assert builder.build() == 0
    tell(begun())
    assert [builder.build(), builder.build(), Root.objects.count()] == [1, 0, 1]


def test_a_pass_makes_no_more_roots_than_it_may_and_the_next_goes_on() -> None:
    tell(begun(), 5)
    assert [builder.build(size=1, most=3), builder.build(size=1, most=3)] == [3, 2]


@pytest.mark.parametrize("commits", [True, False])
def test_an_event_that_is_still_to_be_committed_holds_its_root_up_across_passes(commits: bool) -> None:
    slow, quick = begun(), begun()
    tell(quick, 2)
    assert builder.build() == 1
    with elsewhere() as opened:
        opened.execute(INSERT, [slow.ref])  # has its id, and may yet be committed
        tell(quick, 3)
        assert [builder.build() for _ in range(3)] == [0, 0, 0]
        (opened.commit if commits else opened.rollback)()
        assert builder.build() == 1
    newest = statements()[-1]
    assert newest.count == 3 + commits == LedgerEvent.objects.filter(id__gte=newest.first).count()


def test_what_was_complete_before_is_rooted_though_a_transaction_is_open() -> None:
    run, other = begun(), begun()
    with elsewhere() as opened:
        opened.execute("SELECT pg_current_xact_id()")
        tell(run, 2)
        assert builder.build() == 0  # it could still draw an id, for all that is known, but none of these
        opened.commit()
        opened.execute(INSERT, [other.ref])
        assert builder.build() == 1
        assert statements()[-1].count == 2


def test_a_transaction_beyond_the_snapshots_end_is_not_overlooked() -> None:
    """Its number is above all that have ended, so a snapshot's own end does not know it; its id is below ours."""
    first, second = begun(), begun()
    for _ in range(100):
        with elsewhere() as late, elsewhere() as early:
            early.execute("SELECT pg_current_xact_id()")
            late.execute(INSERT, [second.ref])
            early.execute(INSERT, [first.ref])
            early.commit()
            (end, number) = late.execute(
                "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, pg_current_xact_id()::text::bigint"
            ).fetchone() or (0, 0)
            if end > number:
                continue  # somebody elsewhere on the server has ended one meanwhile: this time it would show nothing
            assert [builder.build(), builder.build()] == [0, 0]
            late.commit()
            break
    assert end <= number
    assert builder.build() == 1
    assert statements()[-1].count == LedgerEvent.objects.count() > 1


def test_an_id_is_drawn_under_the_lock_of_the_chain_and_never_given() -> None:
    run = begun()
    tell(run)
    with elsewhere() as first, psycopg.connect(rooted.superuser(), autocommit=True) as admin:

        def drawn() -> int:
            row = admin.execute("SELECT last_value FROM durable_ledgerevent_id_seq").fetchone()
            assert row is not None
            return int(row[0])

        first.execute(INSERT, [run.ref])
        before = drawn()
        with elsewhere() as second, pytest.raises(psycopg.errors.LockNotAvailable):
            second.execute("SET lock_timeout = '50ms'")
            second.execute(INSERT, [run.ref])  # waits for the chain, and has drawn nothing
        assert drawn() == before
        first.execute(
            "INSERT INTO durable_ledgerevent (id, run_ref, kind, effect_key, actor, body)"
            " VALUES (1, %s, 'held', '', 'x', '{}')",
            [run.ref],
        )
        first.commit()
        assert drawn() == before + 1
    ids = list(LedgerEvent.objects.order_by("no").values_list("id", flat=True))
    assert ids == sorted(ids) and ids[-1] == before + 1


@pytest.fixture
def batches() -> Iterator[None]:
    with connections["owner"].cursor() as owner:
        owner.execute("ALTER SEQUENCE durable_ledgerevent_id_seq CACHE 20")
        yield
        owner.execute("ALTER SEQUENCE durable_ledgerevent_id_seq CACHE 1")


def test_ids_that_are_drawn_in_batches_stop_the_builder(batches: None) -> None:
    tell(begun())
    with pytest.raises(horizon.OutOfOrder, match="CACHE 1"):
        builder.build()
    assert not Root.objects.exists()


def test_without_the_key_no_root_is_made_and_it_is_said(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.INTERLOCK_SIGN_KEY = b""
    tell(begun())
    with pytest.raises(signing.NoKey, match="INTERLOCK_SIGN_KEY is not set"):
        builder.build()
    tasks.roots()
    assert "no root is made: INTERLOCK_SIGN_KEY is not set" in caplog.text
    assert not Root.objects.exists() and not Mark.objects.exists()


def test_a_mark_of_another_server_holds_nothing_up() -> None:
    tell(begun())
    Mark.objects.create(last=10**9, transaction=10**15)
    assert builder.build() == 1
    assert statements()[-1].count == 1


def test_two_builders_at_once_make_one_chain_of_roots() -> None:
    tell(begun(), 20)
    at_once(*[lambda: builder.build(size=3)] * 3)
    builder.build(size=3)
    found = statements()
    assert [s.number for s in found] == list(range(1, len(found) + 1))
    assert sum(s.count for s in found) == 20
    assert [s.hash for s in found] == [rooted.mth_of(s) for s in found]


def test_the_key_that_signs_is_given_by_the_environment_alone() -> None:
    own = base64.b64decode(base64.b64encode(settings.INTERLOCK_SIGN_KEY))
    assert len(own) == 32
    code, told = rooted.said("roots", "--public-key")
    assert (code, told.strip()) == (0, signing.public_key())
    assert own.hex() not in told
