"""`manage.py verify`: says that everything holds where it does, and where it does not, names the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import transaction

from approvals.models import Decision
from durable import journal, vault
from durable.digest import canonical
from durable.models import Chain, Effect, LedgerEvent, Root, Run, Sealed
from durable.roots import signing
from durable.states import ActKind
from proof.tampering import hand
from tests import factories
from tests.approvals.answering import answer
from tests.engine import rooted
from tests.engine.rooted import begun, elsewhere, file, forging, said, tell

__all__ = ["file"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run() -> Run:
    """A run with a decided effect and some words, all of it under roots that are kept outside."""
    gate = factories.gate()
    answer(factories.person("alice"), gate, words="sounds right")
    run = gate.effect.run
    tell(run, 4, words="a look at it")
    rooted.root_and_keep(size=3)
    return run


def verify(*words: str) -> tuple[int, list[str]]:
    code, told = said("verify", *words)
    return code, told.splitlines()


def found(*words: str) -> list[str]:
    """The findings, held against what was kept outside."""
    code, told = verify("--anchors", str(rooted.kept()), *words)
    lines = [line.removeprefix("FOUND ") for line in told if line.startswith("FOUND ")]
    assert code == (1 if lines else 0), told
    return lines


def test_an_untouched_ledger_holds_and_what_was_read_is_counted(run: Run) -> None:
    events, roots = LedgerEvent.objects.count(), Root.objects.count()
    assert verify("--anchors", str(rooted.kept())) == (
        0,
        [
            f"{events} events in {Chain.objects.count()} chains",
            f"{roots} signed roots over {events} of them",
            f"1 effects, {Sealed.objects.count()} sealed boxes",
            f"{roots} lines that were kept outside; the newest root among them is {roots}",
            "everything holds",
        ],
    )


def test_what_no_root_outside_covers_is_counted_and_dated(run: Run) -> None:
    tell(run, 2)
    first = LedgerEvent.objects.order_by("-id")[1].at
    window = f"NOT PROVEN: 2 events since {first:%Y-%m-%d %H:%M:%S} UTC"
    assert any(line.startswith(window) for line in verify("--anchors", str(rooted.kept()))[1])
    everything = f"NOT PROVEN: {LedgerEvent.objects.count()} events since "
    assert any(line.startswith(everything) for line in verify()[1])


def test_a_file_of_roots_at_hand_is_named_and_not_believed_unasked(
    run: Run, settings: Any, file: Path
) -> None:
    settings.INTERLOCK_ANCHOR_FILE = str(file)
    code, told = verify()
    assert code == 0 and any(f"pass --anchors {file} to hold them" in line for line in told)
    assert any(line.startswith("NOT PROVEN") for line in told)
    tell(run, 2)
    assert not any("to hold them" in line for line in verify("--anchors", str(file))[1])
    file.unlink()
    assert not any("to hold them" in line for line in verify()[1])


def test_a_file_of_anchors_that_can_not_be_read_is_named_with_its_argument(tmp_path: Path) -> None:
    code, [told] = verify("--anchors", str(tmp_path / "nope"))
    assert code == 2 and told.startswith(f"--anchors: {tmp_path / 'nope'} can't be read (No such file")


def test_work_that_goes_on_meanwhile_is_no_finding(run: Run) -> None:
    with elsewhere() as opened:
        opened.execute(rooted.INSERT, [run.ref])
        assert found() == []
        opened.commit()
    assert found() == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("UPDATE durable_ledgerevent SET body = '{}' WHERE no = 2", "event 2: its hash is not"),
        ("UPDATE durable_ledgerevent SET body = 'no JSON at all' WHERE no = 1", "event 1: its hash is not"),
        ("UPDATE durable_ledgerevent SET at = at - interval '1 s' WHERE no = 3", "event 3: its hash is not"),
        ("UPDATE durable_ledgerevent SET at = 'infinity' WHERE no = 3", "event 3: its hash is not"),
        ("UPDATE durable_ledgerevent SET hash = '' WHERE no = 3", "event 3: its hash is not"),
        ("DELETE FROM durable_ledgerevent WHERE no = 3", "event 3: it is missing; the next that is there is 4"),
        ("DELETE FROM durable_ledgerevent WHERE no = 1", "event 1: it is missing; the next that is there is 2"),
        ("UPDATE durable_ledgerevent SET no = 100 - no", "event 1: it is missing"),
        ("UPDATE durable_chain SET no = no - 1", "event 6: the head of its chain says that this is the last"),
        ("UPDATE durable_chain SET head = ''", "event 7: the head of its chain has another hash"),
        ("DELETE FROM durable_chain", "event 1: it has events, and its chain has no head"),
        ("DELETE FROM durable_ledgerevent", "event 7: the head of its chain says that this is the last"),
    ],
)  # fmt: skip
def test_rows_of_the_chain_that_a_superuser_changed_are_named(run: Run, change: str, place: str) -> None:
    with forging() as wire:
        wire.execute(change.encode())
    assert f"{run.ref} {place}" in "\n".join(found())


def test_the_end_of_a_chain_that_was_cut_off_with_its_head_is_missed_by_its_root(run: Run) -> None:
    with forging() as wire:
        events = hand.events_of(wire, run.ref)[:-1]
        hand.rewrite(wire, run.ref, events)
        hand.set_head(wire, run.ref, events[-1])
    newest = rooted.statements()[-1]
    told = f"root {newest.number}: {newest.count - 1} events with the ids {newest.first} to"
    assert [told in line for line in found()] == [True]


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        ("DELETE FROM durable_root WHERE number = 2", ["root 2: it is missing", "root 2: it was kept outside, and"]),
        ("DELETE FROM durable_root WHERE number = 3", ["root 3: it was kept outside, and is not in the database"]),
        ("UPDATE durable_root SET signature = '\\x00' WHERE number = 2", ["root 2: its signature is not that"]),
        ("UPDATE durable_root SET statement = 'all is well' WHERE number = 2", ["root 2: not a statement"]),
        ("UPDATE durable_root SET statement = replace(statement, 'count: 3', 'count: 2') WHERE number = 2",
         ["root 2: its signature", "root 2: 3 events", "root 2: what was kept outside", "root 3: it follows another"]),
        ("UPDATE durable_root SET last = last + 1 WHERE number = 2", ["root 2: its period is not the one"]),
    ],
)  # fmt: skip
def test_roots_that_were_changed_are_named(run: Run, change: str, sentences: list[str]) -> None:
    with forging() as wire:
        wire.execute(change.encode())
    told = "\n".join(found())
    assert [one for one in sentences if one not in told] == []


def test_a_forger_with_the_signing_key_is_found_by_what_was_kept_outside_and_by_nothing_else(
    run: Run, settings: Any
) -> None:
    with forging() as wire:
        events = hand.events_of(wire, run.ref)
        events[3] = events[3].__class__(**{**vars(events[3]), "actor": "somebody else"})
        forged = hand.chained(events)
        hand.rewrite(wire, run.ref, forged)
        hand.set_head(wire, run.ref, forged[-1])
        hand.sign_anew(wire, 2, Ed25519PrivateKey.from_private_bytes(settings.INTERLOCK_SIGN_KEY))
    assert verify("--without-payloads")[0] == 0
    expected = [f"root {n}: what was kept outside under its number is another statement" for n in (2, 3)]
    assert found() == expected


def test_a_key_that_is_none_of_ours_is_named_and_counts_once_it_is_given(run: Run, settings: Any) -> None:
    old = signing.public_key()
    settings.INTERLOCK_SIGN_KEY = b"n" * 32
    tell(run)
    rooted.root_and_keep()
    told = "\n".join(found())
    assert f"root 1: it is signed with the key {old}, which is none of ours" in told
    assert found("--key", old) == []
    settings.INTERLOCK_PUBLIC_KEYS = [old]
    assert found() == []


def test_without_any_key_nothing_is_verified(run: Run, settings: Any) -> None:
    settings.INTERLOCK_SIGN_KEY = b""
    code, told = verify()
    assert (code, len(told)) == (2, 1) and "no public key" in told[0]
    assert verify("--key", "c0ffee")[0] == 2


def test_a_torn_line_outside_is_told_and_is_no_finding(run: Run, file: Path) -> None:
    with file.open("a") as out:
        out.write('{"statement": "interl')
    code, told = verify("--anchors", str(file))
    assert code == 0 and any("line 4 of what was kept outside: not a line" in line for line in told)


def test_a_line_outside_that_somebody_else_signed_is_a_finding(run: Run, file: Path) -> None:
    text = file.read_text()
    file.write_text(text.replace("count: 3", "count: 4", 1))
    assert found() == ["root 1: line 1 of what was kept outside is not signed with a key of ours"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("UPDATE durable_effect SET amount_minor = 1", "event 1: the row of {key} has another amount"),
        ("UPDATE durable_effect SET digest = repeat('0', 64)", "event 1: the row of {key} has another digest"),
        ("UPDATE durable_effect SET state = 'applied', receipt_id = 're_1'", "its events say of no receipt"),
        ("DELETE FROM durable_effect", "event 1: the effect {key} that it speaks of has no row"),
        ("UPDATE durable_effect SET key = key || '#2'", "the effect {key}#2 has a row, and no event"),
        ("UPDATE approvals_decision SET verdict = 'reject'", "event 3: decision {decision} has another verdict"),
        ("UPDATE approvals_decision SET digest = repeat('0', 64)", "decision {decision} has another digest"),
        ("UPDATE auth_user SET username = 'mallory' WHERE username = 'alice'", "has another person"),
        ("DELETE FROM approvals_decision", "event 3: the decision that it speaks of is not there"),
        ("UPDATE durable_sealed SET box = '\\x00'", "was changed or swapped"),
        ("UPDATE durable_eventdetail SET sealed_id = (SELECT payload_id FROM durable_effect)",
         "event 3: the words beside it are not those that it names"),
        ("DELETE FROM durable_eventdetail", "event 3: the words beside it are not those"),
    ],
)  # fmt: skip
def test_what_stands_beside_the_events_is_held_against_them(run: Run, change: str, sentence: str) -> None:
    names = {"key": Effect.objects.get().key, "decision": Decision.objects.get().pk}
    with forging() as wire:
        wire.execute(change.encode())
    assert sentence.format(**names) in "\n".join(found())
    assert found("--without-payloads") == []


def test_a_payload_sealed_anew_by_whoever_has_the_key_is_found(run: Run) -> None:
    payload = Effect.objects.get().payload
    key = vault.open_key(run.pk, run.ref)
    Sealed.objects.filter(pk=payload.pk).update(
        box=vault.box_of(key, canonical({"args": {"amount": "1.00"}}), payload.digest)
    )
    assert vault.read(Sealed.objects.get(pk=payload.pk)) == {
        "args": {"amount": "1.00"}
    }  # it opens all the same
    assert found() == [
        f"{run.ref}: what is sealed as {payload.digest[:16]} was changed or swapped, or its key was"
    ]


def test_what_was_erased_is_counted_and_is_no_finding(run: Run) -> None:
    with transaction.atomic():
        vault.destroy_within(run)
        journal.record(run, ActKind.ERASED, actor="ada")
    boxes = Sealed.objects.count()
    code, told = verify("--anchors", str(rooted.kept()))
    assert code == 0 and f"1 effects, {boxes} sealed boxes, of which {boxes} nobody can open any more" in told


def test_a_guard_that_is_off_is_named(run: Run) -> None:
    with psycopg.connect(rooted.superuser(), autocommit=True) as admin:
        admin.execute("ALTER TABLE durable_root DISABLE TRIGGER only_grows")
        try:
            assert found() == ["the trigger durable_root.only_grows is missing or turned off"]
        finally:
            admin.execute("ALTER TABLE durable_root ENABLE ALWAYS TRIGGER only_grows")


def test_no_more_than_a_hundred_findings_are_printed_and_all_are_counted() -> None:
    tell(begun(), 130)
    with forging() as wire:
        wire.execute("UPDATE durable_ledgerevent SET actor = 'mallory'")
    code, told = verify()
    assert (code, len([line for line in told if line.startswith("FOUND")])) == (1, 100)
    assert "… and 30 more" in told and "130 findings" in told


def test_a_proof_leads_from_an_event_to_what_was_signed(run: Run) -> None:
    code, told = said("verify", "--proof", run.ref, "4")
    event = LedgerEvent.objects.get(run_ref=run.ref, no=4)
    assert code == 0
    place = LedgerEvent.objects.filter(id__gt=rooted.statements()[0].last, id__lt=event.id).count()
    assert f"hash      {bytes(event.hash).hex()}" in told and f"leaf      {place} of 3 in root 2" in told
    assert Root.objects.get(number=2).statement in told
    with forging() as wire:
        beside = {rooted.statements()[1].first, rooted.statements()[1].last} - {event.id}
        wire.execute("UPDATE durable_ledgerevent SET hash = sha256('') WHERE id = %s", [beside.pop()])
    code, told = said("verify", "--proof", run.ref, "4")
    assert code == 1 and "WHICH IS NOT THE HASH THAT WAS SIGNED" in told


def test_a_proof_of_what_is_in_no_root_or_not_there_says_so(run: Run) -> None:
    tell(run)
    assert said("verify", "--proof", run.ref, "8")[1].endswith("it is in no root yet\n")
    assert said("verify", "--proof", run.ref, "9") == (2, f"no event 9 of {run.ref}\n")
    assert said("verify", "--proof", run.ref, "x")[0] == 2
