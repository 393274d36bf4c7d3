"""The making of a file: one snapshot of the database, streamed by COPY, so that memory holds no more than a block.

No row becomes an object: the server writes the lines, and this process counts them, hashes them and writes them down.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedRandom
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection
from django.utils import timezone
from psycopg import Cursor

from approvals.exports import columns, files, sources
from approvals.exports.sources import Source
from approvals.models import Export
from approvals.states import ExportForm
from durable.clock import db_now
from durable.digest import sha256
from durable.errors import Conflict
from durable.models import LedgerEvent, Root
from durable.roots import bundle
from durable.roots.reading import Wire, snapshot

FORM = "interlock-export-1"
ENDINGS = {ExportForm.CSV: "csv", ExportForm.JSONL: "jsonl", ExportForm.BUNDLE: "zip"}
#: Else spreadsheets take UTF-8 for the letters of their own country.
_MARK = "\ufeff".encode()
_BLOCK = 256 * 1024


@dataclass(slots=True)
class Counter:
    """How far it is: rows written, of how many where that is known. `over`: nobody waits for it any more."""

    rows: int = 0
    total: int | None = None
    over: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """A file that is whole: its name in the folder, and what its manifest says."""

    file: str
    manifest: dict[str, Any]


class Cut(Conflict):
    """Nobody waits for it any more, or the server has sent another number of rows than it says."""


def make(export: Export, counter: Counter, heed: Callable[[], None]) -> Made:
    """Write the file of an export. `heed` is called now and then, and raises whatever is to end it.

    Raises Invalid, NotFound, files.NoRoom, and Django's errors where the database is away. No half file is left.
    """
    form = ExportForm(export.form)
    name = f"{export.pk}-{export.claim}.{ENDINGS[form]}"
    with timezone.override(ZoneInfo(export.zone)), snapshot() as wire, files.written(name) as out:
        stands = _stands()
        source = sources.find(export.of, export.query, export.asked_at)
        if form is ExportForm.BUNDLE:
            heed()
            counter.rows = counter.total = bundle.write(out, wire, **source.proven()).events
            digest = _digest(out)
        else:
            counter.total = source.count() if source.number is None else source.number
            digest = _Sink(out, form, counter, heed).copy(wire, source)
        size = out.seek(0, 2)
    head = [] if form is ExportForm.BUNDLE else [one.name for one in source.columns]
    return Made(name, _manifest(export, counter.rows, size, digest, stands, head))


def _stands() -> dict[str, Any]:
    """What the snapshot is of: its moment, the newest event in it, and the newest root."""
    root = Root.objects.order_by("-number").values_list("number", "statement").first()
    newest = LedgerEvent.objects.order_by("-pk").values_list("pk", flat=True).first()
    return {
        "as_of": moment(db_now()),
        "newest_event": newest,
        "root": {"number": root[0], "sha256_of_statement": sha256(root[1].encode())} if root else None,
    }


@dataclass(slots=True)
class _Sink:
    """Where rows go: counted, hashed, written a block at a time."""

    out: BufferedRandom
    form: ExportForm
    counter: Counter
    heed: Callable[[], None]

    def copy(self, wire: Wire, source: Source) -> str:
        """Write all rows, and return the SHA-256 of all that was written."""
        found, values = source.sql()
        csv = self.form is ExportForm.CSV
        statement = (columns.copy_csv if csv else columns.copy_jsonl)(source.columns, found, source.order)
        hash, end = hashlib.sha256(), b"\r\n" if csv else b"\n"
        block: list[bytes] = [_MARK + ",".join(one.name for one in source.columns).encode()] if csv else []
        size, heads = 0, len(block)
        with connection.wrap_database_errors, Cursor(wire) as cursor:
            if found:
                with cursor.copy(statement.encode(), values) as rows:
                    for row in rows:  # one line each, and nothing else between lines: so has the protocol it
                        block.append(bytes(row[:-1]))
                        size += len(block[-1])
                        if size > _BLOCK:
                            self._write(block, end, hash, heads)
                            size = heads = 0
            self._write(block, end, hash, heads)
            if found and cursor.rowcount != self.counter.rows:
                raise Cut(f"the server says {cursor.rowcount:,} rows and has sent {self.counter.rows:,}")
        return hash.hexdigest()

    def _write(self, block: list[bytes], end: bytes, hash: Any, heads: int) -> None:
        self.heed()
        data = end.join([*block, b""])
        hash.update(data)
        self.out.write(data)
        self.counter.rows += len(block) - heads
        block.clear()


def _digest(out: BufferedRandom) -> str:
    out.seek(0)
    return hashlib.file_digest(out, "sha256").hexdigest()


def _manifest(
    export: Export, rows: int, size: int, digest: str, stands: dict[str, Any], head: list[str]
) -> dict[str, Any]:
    form = ExportForm(export.form)
    made = db_now()
    name = f"interlock-{export.of}-{made:%Y%m%dT%H%M%SZ}-{rows}-rows.{ENDINGS[form]}"
    return {
        "form": FORM,
        "file": name,
        "whole": True,
        "rows": rows,
        "bytes": size,
        "sha256": digest,
        "of": export.of,
        "query": export.query,
        "zone": export.zone,
        "asked_at": moment(export.asked_at),
        "made_at": moment(made),
        "made_by": export.person.get_username(),
        **stands,
        "columns": head,
        "moments": "ISO 8601, UTC",
        "amounts": "amount_minor in minor units, amount as a decimal number of the currency",
        "sealed": "left out: names, payloads and people's words are in no export",
    }


def moment(at: datetime) -> str:
    """A moment as files have it: ISO 8601 in UTC, which its Z says."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
