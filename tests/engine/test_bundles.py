"""A bundle proves its events to somebody who has Python and nothing else; whatever is changed in it is named."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as some

from durable import vault
from durable.digest import canonical
from durable.models import Effect, LedgerEvent, Run
from durable.roots import bundle, signing, standalone
from durable.roots.cutting import cut
from durable.roots.reading import snapshot
from proof.tampering import hand
from tests import factories
from tests.approvals.answering import answer
from tests.engine import rooted
from tests.engine.rooted import begun, file, root_and_keep, said, tell

__all__ = ["file"]

pytestmark = pytest.mark.django_db(transaction=True)
Lines = list[dict[str, Any]]


@pytest.fixture
def run() -> Run:
    """A run with a decided effect, among the events of others, under several roots."""
    gate = factories.gate()
    answer(factories.person("alice"), gate, words="klingt gut, sagt Åsa")
    tell(begun(), 3)
    tell(gate.effect.run, 3)
    root_and_keep(size=4)
    tell(begun(), 3)
    root_and_keep(size=4)
    return gate.effect.run


@pytest.fixture
def made(run: Run, tmp_path: Path) -> Path:
    """The bundle of that run."""
    code, told = said("bundle", str(tmp_path / "made.zip"), "--run", run.ref)
    assert code == 0, told
    return tmp_path / "made.zip"


def check(made: Path, *words: str) -> tuple[int, str]:
    """What the verifier in a bundle says of it, in a Python of its own that sees no package and no checkout."""
    program = made.with_suffix(".py")
    with zipfile.ZipFile(made) as archive:
        program.write_bytes(archive.read("verify.py"))
    argv = [sys.executable, "-I", "-S", str(program), str(made), *words]
    ended = subprocess.run(argv, capture_output=True, text=True, cwd=made.parent, check=False)
    assert not ended.stderr, ended.stderr
    return ended.returncode, ended.stdout


def read(made: Path, name: str) -> Lines:
    with zipfile.ZipFile(made) as archive:
        return [json.loads(line) for line in archive.read(name).decode().splitlines()]


def changed(made: Path, name: str, change: Callable[[Lines], Any]) -> Path:
    """The same bundle with one of its files changed."""
    other = made.with_name("changed.zip")
    lines = read(made, name)
    changed_to = change(lines)
    lines = lines if changed_to is None else changed_to
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(other, "w") as new:
        for entry in old.namelist():
            text = "".join(json.dumps(line) + "\n" for line in lines).encode()
            new.writestr(entry, text if entry == name else old.read(entry))
    return other


def test_a_bundle_is_proven_by_its_own_verifier_and_what_was_kept_outside(
    made: Path, run: Run, file: Path
) -> None:
    events = LedgerEvent.objects.filter(run_ref=run.ref).count()
    code, told = check(made, "--key", signing.public_key(), "--anchors", str(file))
    assert (code, told.splitlines()) == (
        0,
        [
            f"public key {signing.public_key()}",
            "roots 1 to 4: each names the one before it, the newest is signed for all",
            "the newest that was kept outside: 4; what is only in later ones is not proven",
            f"{events} events of 1 runs; 0 of them in no root yet, so proven by nothing",
            "everything holds",
        ],
    )
    assert "as the bundle itself has it" in check(made)[1]


def test_a_bundle_holds_no_payload_and_no_word(made: Path) -> None:
    with zipfile.ZipFile(made) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
        assert sorted(archive.namelist()) == [
            "README.txt", "events.jsonl", "public-key.txt", "roots.jsonl", "texts.jsonl", "verify.py",
        ]  # fmt: skip
    # The order's number by itself: within a hash it may stand by chance.
    assert not re.search(rb"(?<![0-9a-f])8812(?![0-9a-f])", everything) and b"klingt" not in everything


def test_the_events_of_an_effect_alone_are_proven_without_the_rest_of_their_run(
    run: Run, tmp_path: Path
) -> None:
    effect = Effect.objects.get()
    assert said("bundle", str(tmp_path / "one.zip"), "--effect", effect.key)[0] == 0
    numbers = [event["no"] for event in read(tmp_path / "one.zip", "events.jsonl")]
    assert numbers == list(LedgerEvent.objects.filter(effect_key=effect.key).values_list("no", flat=True))
    assert len(numbers) < LedgerEvent.objects.filter(run_ref=run.ref).count()
    assert check(tmp_path / "one.zip")[0] == 0


def test_events_in_no_root_yet_are_counted_as_proven_by_nothing(run: Run, tmp_path: Path) -> None:
    tell(run, 2)
    code, told = said("bundle", str(tmp_path / "b.zip"), "--run", run.ref)
    assert (code, "2 of them in no root yet" in told) == (0, True)
    code, told = check(tmp_path / "b.zip")
    assert (code, "2 of them in no root yet" in told) == (0, True)


def test_texts_that_events_name_are_held_against_their_digests(run: Run, tmp_path: Path) -> None:
    payload = canonical(vault.read(Effect.objects.get().payload)).decode()
    for name, texts in (("good.zip", [payload]), ("bad.zip", [payload.replace("184.50", "1.00")])):
        with (tmp_path / name).open("wb") as out, snapshot() as wire:
            bundle.write(out, wire, runs=[run.ref], texts=texts)
    assert check(tmp_path / "good.zip")[0] == 0
    code, told = check(tmp_path / "bad.zip")
    assert code == 1 and "no event names the text" in told
    swapped = changed(tmp_path / "good.zip", "texts.jsonl", lambda lines: lines[0].update(text="{}"))
    assert "is not what its digest says" in check(swapped)[1]


def test_a_run_whose_beginning_went_is_proven_from_its_cut_on(run: Run, tmp_path: Path) -> None:
    with transaction.atomic():
        cut(1)
    with rooted.forging() as wire:
        wire.execute(
            "DELETE FROM durable_ledgerevent WHERE id <= (SELECT last FROM durable_root WHERE number = 1)"
        )
    root_and_keep(size=4)
    assert said("bundle", str(tmp_path / "b.zip"), "--run", run.ref)[0] == 0
    assert min(event["no"] for event in read(tmp_path / "b.zip", "events.jsonl")) > 1
    assert check(tmp_path / "b.zip", "--anchors", str(rooted.kept()))[0] == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda lines: lines[1].update(actor="mallory"), "event 2: its hash is not what its facts make"),
        (lambda lines: lines[1].update(body="{}"), "event 2: its hash is not what its facts make"),
        (lambda lines: lines[1].update(at="2020-01-01T00:00:00.000000Z"), "event 2: its hash is not what"),
        (lambda lines: lines[1].update(actor="a\nb"), "event 2: it has a line break"),
        (lambda lines: lines[1].update(previous="00"), "event 2: its hash is not what its facts make"),
        (lambda lines: lines[1].update(path=lines[0]["path"]), "event 2: its proof does not lead to root 1"),
        (lambda lines: lines[1].update(place=99), "event 2: its proof does not lead to root 1"),
        (lambda lines: lines[1].update(id=7_000), "event 2: its proof does not lead to root 1"),
        (lambda lines: lines[1].update(root=99), "event 2: root 99 is missing"),
        (lambda lines: lines[1].update(path=lines[1]["path"][:-1]), "event 2: its proof does not lead"),
    ],
)  # fmt: skip
def test_an_event_that_was_changed_is_named(
    made: Path, change: Callable[[Lines], Any], sentence: str
) -> None:
    code, told = check(changed(made, "events.jsonl", change))
    assert code == 1 and sentence in told and "everything holds" not in told


def statement(line: dict[str, Any], old: str, new: str) -> None:
    assert old in line["statement"]
    line["statement"] = line["statement"].replace(old, new)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda lines: statement(lines[0], "count: 4", "count: 5"), "root 2 does not follow the one before it"),
        (lambda lines: lines[:1] + lines[2:], "root 3 does not follow the one before it"),
        (lambda lines: statement(lines[-1], "last: ", "last: 1"), "the newest root, 4, is not signed with"),
        (lambda lines: lines[-1].update(signature=lines[0]["signature"]), "the newest root, 4, is not signed"),
        (lambda lines: lines[1:], "root 1 is missing"),
        (lambda lines: [], "root 1 is missing"),
    ],
)  # fmt: skip
def test_a_statement_that_was_changed_or_taken_out_is_named(
    made: Path, change: Callable[[Lines], Any], sentence: str
) -> None:
    code, told = check(changed(made, "roots.jsonl", change))
    assert code == 1 and sentence in told


def test_a_bundle_made_up_under_another_key_fails_by_the_key_and_by_what_was_kept(
    made: Path, file: Path, settings: Any, tmp_path: Path
) -> None:
    theirs = signing.public_key()
    with rooted.forging() as wire:
        hand.sign_anew(wire, 1, Ed25519PrivateKey.generate())
    forged = tmp_path / "forged.zip"
    assert said("bundle", str(forged), "--run", read(made, "events.jsonl")[0]["run"])[0] == 0
    assert check(forged)[0] == 0  # nothing in it shows it
    assert f"is not signed with {theirs}" in check(forged, "--key", theirs)[1]
    assert "root 1 is another one than was kept outside" in check(forged, "--anchors", str(file))[1]


def test_an_existing_file_is_not_written_over_and_nothing_is_left_of_an_empty_bundle(
    made: Path, tmp_path: Path
) -> None:
    before = made.read_bytes()
    assert said("bundle", str(made), "--run", "run-none") == (2, f"{made} exists: name another file\n")
    assert made.read_bytes() == before
    code, told = said("bundle", str(tmp_path / "none.zip"), "--run", "run-none")
    assert (code, (tmp_path / "none.zip").exists()) == (2, False) and "nothing was written" in told


def test_a_bundle_of_nobodys_events_or_to_nowhere_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "made.zip"
    assert said("bundle", str(file)) == (
        2,
        "say whose events: --run REF or --effect KEY, each as often as you like\n",
    )
    code, told = said("bundle", str(tmp_path / "none" / "made.zip"), "--run", "run-none")
    assert (code, file.exists()) == (2, False) and "can't be written (No such file" in told


# The small verifier itself.


def test_the_small_verifier_imports_nothing_but_the_standard_library() -> None:
    tree = ast.parse(Path(standalone.__file__).read_text())
    names = {
        (alias.name if isinstance(found, ast.Import) else str(found.module)).split(".")[0]
        for found in ast.walk(tree)
        if isinstance(found, ast.Import | ast.ImportFrom)
        for alias in found.names
    }
    assert names <= sys.stdlib_module_names and "zipfile" in names
    assert len(Path(standalone.__file__).read_text().splitlines()) < 200


@pytest.mark.parametrize(
    ("public", "message", "signature"),
    [  # RFC 8032, section 7.1
        ("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
         "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
         "d25bf5f0595bbe24655141438e7a100b"),
        ("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "r",
         "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
         "387b2eaeb4302aeeb00d291612bb0c00"),
    ],
)  # fmt: skip
def test_its_signatures_are_those_of_the_standard(public: str, message: str, signature: str) -> None:
    assert standalone.signed(public, message, bytes.fromhex(signature))
    assert not standalone.signed(public, message + " ", bytes.fromhex(signature))


@given(some.binary(min_size=32, max_size=32), some.text(max_size=50), some.integers(0, 511))
@settings(max_examples=15, deadline=None)
def test_it_takes_what_another_implementation_signs_and_nothing_with_a_bit_changed(
    seed: bytes, message: str, bit: int
) -> None:
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
    good = key.sign(message.encode())
    bad = bytearray(good)
    bad[bit // 8] ^= 1 << bit % 8
    assert standalone.signed(public, message, good)
    assert not standalone.signed(public, message, bytes(bad))
