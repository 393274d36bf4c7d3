"""Bundles: events of chosen runs and effects with all that proves them, for somebody who has nothing of the product.

A bundle is a ZIP of lines of JSON, the public key, a small verifier that needs only Python, and a page that explains.
It is written as it is read: memory holds one period of leaves, however many events go in.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from durable.digest import sha256
from durable.roots import proofs
from durable.roots.reading import Wire, stream
from durable.roots.statement import line, parse

_STATEMENTS = "SELECT statement, signature FROM durable_root WHERE number >= %s ORDER BY number"
_NEWEST = "SELECT statement, signature FROM durable_root ORDER BY number DESC LIMIT 1"

_README = """\
This is part of the ledger of an Interlock installation, with what proves it.

  events.jsonl    one event a line, with the hash that it follows in its run, its own hash, and its proof: the number
                  of its root, its place among that root's leaves, and the hashes beside the way up
  roots.jsonl     signed statements, from the oldest that an event here needs to the newest; each names the one before
  texts.jsonl     what was sealed and is shown here on purpose: its SHA-256 is named by an event
  public-key.txt  the key that the statements are signed with. Compare it with one that you got another way
  verify.py       checks all of this with Python 3.9 or newer and nothing else:

      python3 verify.py BUNDLE.zip --key PUBLIC_KEY --anchors FILE

FILE is what was kept outside of the database: attachments of the letters, the file of roots, or the store's objects, in
one file. Whoever holds the database and the signing key could have made all of this up; they can't have changed what
you keep. So what counts is the newest root here that you have kept yourself.

It proves that each event was in the ledger when its root was made, and has not been changed since. It does not prove
that no other events of the same run exist, unless the numbers of a run begin with 1 and have no gap; nor what came
after the last of them.
"""


@dataclass(slots=True)
class Contents:
    """What went into a bundle."""

    events: int = 0
    #: Events in no root yet: nothing proves them.
    open: int = 0
    texts: int = 0


def write(
    out: IO[bytes],
    wire: Wire,
    *,
    runs: Sequence[str] = (),
    effects: Sequence[str] = (),
    ids: Sequence[int] = (),
    texts: Iterable[str] = (),
) -> Contents:
    """Write the bundle of these runs and effects, and of events by id, to `out`, inside the open transaction of `wire`.

    `texts` are canonical JSON texts that events name by their SHA-256 (payloads, words): whoever calls has opened them,
    and says by it that they may be read by whoever gets the bundle.
    """
    contents, oldest, key = Contents(), 0, ""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", _README)
        archive.write(Path(__file__).with_name("standalone.py"), "verify.py")
        with _lines(archive, "events.jsonl") as add:
            for event in proofs.of_events(wire, runs=runs, effects=effects, ids=ids):
                contents.events += 1
                if event.proof is None:
                    contents.open += 1
                oldest = oldest or (event.proof.statement.number if event.proof else 0)
                add(event.plain())
        with archive.open("roots.jsonl", "w", force_zip64=True) as file:
            for text, signature in _statements(wire, oldest):
                file.write(f"{line(text, signature)}\n".encode())
                key = parse(text).key
        with _lines(archive, "texts.jsonl") as add:
            for text in texts:
                contents.texts += 1
                add({"digest": sha256(text.encode()), "text": text})
        archive.writestr("public-key.txt", f"{key}\n")
    return contents


def _statements(wire: Wire, oldest: int) -> Iterator[tuple[str, bytes]]:
    """The statements from that number on; the newest alone where no event needs any."""
    rows = stream(wire, _STATEMENTS, [oldest]) if oldest else stream(wire, _NEWEST)
    return ((text, signature) for text, signature in rows)


@contextmanager
def _lines(archive: zipfile.ZipFile, name: str) -> Iterator[Any]:
    """A file of the archive that takes objects, a line each."""
    with archive.open(name, "w", force_zip64=True) as file:
        yield lambda value: file.write(f"{json.dumps(value, ensure_ascii=False)}\n".encode())
