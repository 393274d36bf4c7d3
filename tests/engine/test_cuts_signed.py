"""What looks like a cut and is not signed with a key that the owner has named lets nothing go: it is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import connection, connections, transaction

from approvals.models import Gate
from durable import grants
from durable.models import AcceptedCut, LedgerEvent, Root, SignKey
from durable.retention import passes, periods
from durable.roots import signing
from durable.roots.cutting import cut
from durable.roots.statement import Statement, parse
from tests.engine.rooted import file, forging, url
from tests.engine.test_ledger_goes import found, ledger, own_tools

__all__ = ["file", "ledger", "own_tools"]

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

Refused = psycopg.errors.InsufficientPrivilege
LET_GO = "SELECT durable_let_events_go(ARRAY(SELECT id FROM durable_ledgerevent WHERE at < now() - interval '2 years'))"


@contextmanager
def application() -> Iterator[psycopg.Connection[Any]]:
    """Whoever has the application's role and nothing else, in a transaction that is rolled back."""
    with psycopg.connect(url("application")) as wire:
        yield wire
        wire.rollback()


def forged(**other: Any) -> Statement:
    """The cut that a pass of retention would make over all there is, with something else in it."""
    newest = parse(Root.objects.latest("number").statement)
    with transaction.atomic():
        made = parse(cut(newest.number).statement)
        transaction.set_rollback(True)
    return replace(made, **other)


def insert(
    wire: psycopg.Connection[Any], statement: Statement, signature: bytes, number: int | None = None
) -> None:
    wire.execute(
        "INSERT INTO durable_root (number, last, statement, signature) VALUES (%s, 0, %s, %s)",
        [number or statement.number, statement.text(), signature],
    )


def test_a_cut_that_nobody_has_signed_is_refused_and_nothing_goes_by_it(ledger: tuple[Gate, Gate]) -> None:
    before, true = LedgerEvent.objects.count(), forged()
    mallory = Ed25519PrivateKey.generate()
    hers = mallory.public_key().public_bytes_raw().hex()
    fakes = {
        "unsigned": (true, b""),
        "by another key": (true, mallory.sign(true.text().encode())),
        "by a key that it names itself": (
            replace(true, key=hers),
            mallory.sign(replace(true, key=hers).text().encode()),
        ),
        "changed": (replace(true, gone=true.gone - 1), signing.sign(true.text())),
        "of another place": (
            replace(true, previous="0" * 64),
            signing.sign(replace(true, previous="0" * 64).text()),
        ),
    }
    for name, (statement, signature) in fakes.items():
        with application() as wire, pytest.raises(Refused, match="signed with a key that the owner"):
            insert(wire, statement, signature)
            pytest.fail(name)
    with application() as wire, pytest.raises(Refused, match="follow the newest statement"):
        insert(wire, true, signing.sign(true.text()), number=true.number + 1)
    with application() as wire, pytest.raises(Refused, match="only events that a signed cut covers"):
        wire.execute(LET_GO)
    with application() as wire:
        insert(wire, true, signing.sign(true.text()))
        wire.execute(LET_GO)
        (left,) = wire.execute("SELECT count(*) FROM durable_ledgerevent").fetchone() or (0,)
        assert 0 < left < before
    assert LedgerEvent.objects.count() == before


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO durable_acceptedcut (number, gone) VALUES (99, 999999)",
        "INSERT INTO durable_signkey (key) VALUES (repeat('0', 64))",
        "UPDATE durable_signkey SET key = key",
        "DELETE FROM durable_signkey",
        "UPDATE durable_acceptedcut SET gone = gone",
        "DELETE FROM durable_acceptedcut",
        "TRUNCATE durable_signkey",
    ],
)
def test_the_application_names_no_key_and_accepts_no_cut(change: str) -> None:
    assert list(SignKey.objects.values_list("key", flat=True)) == [signing.public_key()]
    with application() as wire, pytest.raises(Refused):
        wire.execute(change.encode())


def test_a_key_that_the_database_was_not_told_of_lets_nothing_go_and_says_what_to_do(
    ledger: tuple[Gate, Gate], settings: Any
) -> None:
    before = signing.public_key()
    settings.INTERLOCK_SIGN_KEY, settings.INTERLOCK_PUBLIC_KEYS = os.urandom(32), [before]
    went = passes.daily()
    assert went.events == 0 and "run `manage.py migrate` where INTERLOCK_SIGN_KEY" in went.trouble
    grants.name_keys(connections["owner"])
    assert set(SignKey.objects.values_list("key", flat=True)) == {before, signing.public_key()}
    assert periods.go().events > 0 and found() == []


def test_a_cut_of_before_the_database_checked_them_is_checked_when_keys_are_named(
    ledger: tuple[Gate, Gate],
) -> None:
    passes.daily()
    true = AcceptedCut.objects.get()
    with forging() as wire:
        wire.execute("DELETE FROM durable_acceptedcut")
        newest = Root.objects.latest("number")
        fake = replace(parse(newest.statement), number=newest.number + 1, gone=999_999)
        insert(wire, fake, b"\0" * 64)
    grants.name_keys(connections["owner"])
    accepted = AcceptedCut.objects.get()
    assert (accepted.number, accepted.gone) == (true.number, true.gone)


VECTORS = [  # RFC 8032, section 7.1
    ("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
     "d25bf5f0595bbe24655141438e7a100b"),
    ("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
     "387b2eaeb4302aeeb00d291612bb0c00"),
    ("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
     "4a7c15e9716ed28dc027beceea1ec40a"),
]  # fmt: skip


def signed(public: bytes, message: bytes, signature: bytes) -> bool:
    """What the database says of a signature."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT durable_signed(%s, %s, %s)", [public, message, signature])
        return bool(cursor.fetchone()[0])


@pytest.mark.parametrize(("public", "message", "signature"), VECTORS)
def test_the_databases_signatures_are_those_of_the_standard(
    public: str, message: str, signature: str
) -> None:
    key, text, good = (bytes.fromhex(one) for one in (public, message, signature))
    assert signed(key, text, good)
    assert not signed(key, text + b"x", good)
    # The same number again: s + q, which the standard refuses.
    q = 2**252 + 27742317777372353535851937790883648493
    again = good[:32] + (int.from_bytes(good[32:], "little") + q).to_bytes(32, "little")
    assert not signed(key, text, again)


def test_the_database_takes_what_another_implementation_signs_and_nothing_with_a_bit_changed() -> None:
    for bit in (0, 77, 255, 256, 300, 511):
        key, message = Ed25519PrivateKey.generate(), os.urandom(bit)
        public, good = key.public_key().public_bytes_raw(), key.sign(message)
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        assert signed(public, message, good) and not signed(public, message, bytes(bad))
    assert not signed(b"\xff" * 32, b"", b"\0" * 64) and not signed(public, message, good[:63])
