"""Exports: what a file says is what the database has; no cell of it computes; nobody gets what is not theirs."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import stat
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.urls import reverse

from approvals.exports import cells, orders, work
from approvals.models import Export
from durable import acts as act_log
from durable.models import Effect, LedgerEvent
from durable.states import ActKind
from tests import factories
from tests.approvals.conftest import SignIn
from tests.approvals.test_changed_rows import NO_BODIES, change

pytestmark = pytest.mark.django_db
#: Texts that a spreadsheet would compute, or that break rows; each must be read back as it is.
HOSTILE = (
    '=HYPERLINK("http://evil.example","click")', "+1", "-40.00", "@SUM(A1)", "\t=1", "\r=1", " =1", "\n=2", "'=1", "''",
    'say "yes", then\r\ngo', "a;=1+1", "a\t+1", "a|@x", "x\n-1", "a; '=1", "\uff1d1", "plain", "", " kept ", "\ufeffx",
    "\\.", "\u202eevil", "\u00fc\U0001f600", "x" * 30_000,
)  # fmt: skip


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.INTERLOCK_EXPORTS = str(tmp_path / "exports")
    return tmp_path / "exports"


@pytest.fixture(autouse=True)
def nobody_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "announce", lambda pk: None)


def made(person: User, of: str = "ledger", query: str = "", form: str = "csv") -> Export:
    """An export that a worker has gone through."""
    export = orders.order(person, of, query, form)
    work.carry_on(export.pk)
    return Export.objects.get(pk=export.pk)


def content(folder: Path, export: Export) -> bytes:
    assert export.state == "made", export.words
    return (folder / export.file).read_bytes()


def table(data: bytes) -> list[dict[str, str]]:
    """CSV as a program reads it, by the one rule of the documents."""
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    return [
        dict(zip(rows[0], (cells.BACK.sub(r"\1", cell) for cell in row), strict=True)) for row in rows[1:]
    ]


def sql(query: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())


def acts(export: Export) -> list[tuple[str, str]]:
    chain = f"export:{export.pk}"
    return list(LedgerEvent.objects.filter(run_ref=chain).order_by("id").values_list("kind", "actor"))


def test_every_hostile_cell_is_read_back_and_begins_no_formula() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT t, {cells.guarded('t')} FROM unnest(%s::text[]) WITH ORDINALITY AS u (t, n) ORDER BY n",
            [list(HOSTILE)],
        )
        rows = cursor.fetchall()
    assert [text for text, _ in rows] == list(HOSTILE)
    for text, cell in rows:
        assert cells.BACK.sub(r"\1", cell) == text
        for piece in re.split(r"[;|\t\r\n]", cell):
            assert not re.match(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]", piece), (text, cell)
    assert dict(rows)["plain"] == "plain" and dict(rows)[" kept "] == " kept "


@pytest.mark.django_db(transaction=True)
def test_a_file_of_the_ledger_says_what_the_database_has_with_amounts_and_moments_exact(
    folder: Path,
) -> None:
    rita = factories.person("rita")
    for amount, currency in (
        ("184.50", "EUR"),
        ("500", "JPY"),
        ("12.345", "KWD"),
        ("90071992547409.92", "USD"),
    ):
        limits = {"EUR": 10**6, "JPY": 10**6, "KWD": 10**6, "USD": 2**53}
        claim = factories.running(limits=limits)
        factories.propose(claim, order="8812", amount=amount, currency=currency)
    Effect.objects.filter(currency="JPY").update(
        receipt_id=HOSTILE[0], failure=HOSTILE[10], vendor=HOSTILE[11]
    )
    data = content(folder, made(rita))
    rows = table(data)
    assert data.startswith(b"\xef\xbb\xbfkey,run,") and data.count(b"\r\n") == len(rows) + 2
    assert [(row["key"], row["amount"], row["amount_minor"]) for row in rows] == [
        (key, amount, str(minor))
        for (key, minor), amount in zip(
            sql("SELECT key, amount_minor FROM durable_effect ORDER BY id"),
            ("184.50", "500", "12.345", "90071992547409.92"),
            strict=True,
        )
    ]
    text = data.decode()
    assert ",184.50," in text and ",-" not in text  # numbers stay numbers: no quotes and no apostrophe
    assert (rows[1]["receipt_id"], rows[1]["failure"], rows[1]["vendor"]) == (
        HOSTILE[0],
        HOSTILE[10],
        HOSTILE[11],
    )
    moments = list(Effect.objects.order_by("pk").values_list("recorded_at", flat=True))
    assert [datetime.fromisoformat(row["recorded_at"]) for row in rows] == moments
    assert all(row["recorded_at"].endswith("Z") for row in rows)
    lines = [json.loads(line) for line in content(folder, made(rita, form="jsonl")).splitlines()]
    assert [(line["key"], line["amount"], line["amount_minor"]) for line in lines] == [
        (row["key"], row["amount"], int(row["amount_minor"])) for row in rows
    ]
    assert lines[1]["receipt_id"] == HOSTILE[0] and lines[0]["undone"] is False
    assert "8812" not in text  # names are sealed, and in no file


@pytest.mark.django_db(transaction=True)
def test_a_manifest_says_that_the_file_is_whole_and_a_cut_one_is_noticed(
    folder: Path, sign_in: SignIn
) -> None:
    rita = factories.person("rita")
    factories.gate()
    export = made(rita, query="tool:pay_out from:today")
    data, client = content(folder, export), sign_in(rita)
    address = reverse("export-downloads", args=[export.pk])
    manifest = json.loads(client.post(address, {"what": "manifest"}).content)
    assert (manifest["rows"], manifest["bytes"], manifest["whole"]) == (1, len(data), True)
    assert manifest["sha256"] == hashlib.sha256(data).hexdigest()
    assert (manifest["query"], manifest["zone"], manifest["made_by"]) == (
        "tool:pay_out from:today",
        "UTC",
        "rita",
    )
    (newest,) = sql("SELECT max(id) FROM durable_ledgerevent WHERE kind NOT IN ('export made', 'signed in')")
    assert manifest["newest_event"] == newest[0]
    answer = client.post(address)
    assert b"".join(answer.streaming_content) == data  # type: ignore[attr-defined]  # it streams
    assert "-1-rows.csv" in answer["Content-Disposition"] and answer["Content-Disposition"].startswith(
        "attachment;"
    )
    assert answer["X-Content-Type-Options"] == "nosniff" and "no-store" in answer["Cache-Control"]
    assert "sandbox" in answer["Content-Security-Policy"]
    file = folder / export.file
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(folder.stat().st_mode) == 0o700
    os.truncate(file, len(data) - 1)
    cut = client.post(address)
    assert cut.status_code == 409 and b"not whole any more" in cut.content
    assert acts(export) == [
        ("export asked", "rita"),
        ("export made", "interlock"),
        ("export downloaded", "rita"),
    ]


@pytest.mark.django_db(transaction=True)
def test_a_file_of_the_log_and_of_a_dossier_has_each_of_its_rows_once(folder: Path) -> None:
    rita = factories.person("rita")
    gate = factories.gate()
    factories.gate()
    key, ref = gate.effect.key, gate.effect.run.ref
    for of, name, rows in (
        ("effect", key, 1),
        ("run", ref, 1),
        ("ledger", f"key:{ref}:", 1),
        ("ledger", "", 2),
    ):
        assert [row["key"] for row in table(content(folder, made(rita, of, name)))][:1] == [key]
        assert Export.objects.latest("pk").rows == rows
    log = table(content(folder, made(rita, "log", "actor:rita")))
    mine = "FROM durable_ledgerevent WHERE actor = 'rita' ORDER BY at, id"
    found = sql(f"SELECT kind, run_ref, no::text, encode(hash, 'hex') {mine}")
    assert [(row["kind"], row["chain"], row["no"], row["hash"]) for row in log] == found
    with zipfile.ZipFile(folder / made(rita, "effect", key, "bundle").file) as bundle:
        events = [json.loads(line) for line in bundle.read("events.jsonl").splitlines()]
    kept = sql("SELECT id FROM durable_ledgerevent WHERE effect_key = %s ORDER BY id", key)
    assert [(event["id"],) for event in events] == kept


@pytest.mark.django_db(transaction=True)
def test_no_cell_of_the_log_begins_a_formula_either_and_each_is_read_back(folder: Path) -> None:
    """What an act says holds texts of vendors and people, and some spreadsheets split a cell by semicolons."""
    said = "x;=HYPERLINK(1)|+1;'kept"
    with transaction.atomic():
        act_log.record(ActKind.STOP_ORDERED, actor="rita", about="stop:1", body={"receipt": said})
    data = content(folder, made(factories.person("rita"), "log", "about:stop:1"))
    ((*_, cell, _),) = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))[1:]
    assert "HYPERLINK" in cell
    for piece in re.split(r"[;|]", cell):
        assert not re.match(r"\s*[=+\-@]", piece), cell
    (row,) = table(data)
    assert json.loads(row["body"])["receipt"] == said


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("body", NO_BODIES)
def test_a_body_that_is_no_json_stands_as_a_text_in_a_file_of_json_lines(folder: Path, body: str) -> None:
    with transaction.atomic():
        act_log.record(ActKind.STOP_ORDERED, actor="rita", about="stop:1", body={"name": "a"})
    event = LedgerEvent.objects.get(run_ref="stop:1")
    change("durable_ledgerevent", "body", event.pk, body)
    (line,) = content(folder, made(factories.person("rita"), "log", "about:stop:1", "jsonl")).splitlines()
    ((stored,),) = sql("SELECT body FROM durable_ledgerevent WHERE id = %s", event.pk)
    said = json.loads(line)["body"]
    assert said == ([1] if stored == "[1]" else stored)
