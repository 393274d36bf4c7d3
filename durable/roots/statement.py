"""What a root says, as the one text that is hashed and signed, and as a line of what is kept outside.

Every statement names the one before it by its hash, so that the newest one speaks for all. There are two kinds: a root
over the events of a period, and a cut, which says that the events of whole periods have gone and what is left of the
chains that they cut.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from durable.errors import InterlockError

#: What the first statement names as the one before it.
NOTHING = "0" * 64
_MOMENT = "%Y-%m-%dT%H:%M:%S.%fZ"
_ROOT = ("number", "first", "last", "count", "hash", "previous", "at", "key")
_CUT = ("number", "gone", "count", "hash", "previous", "at", "key")
_KINDS = {"interlock-root-1": _ROOT, "interlock-cut-1": _CUT}
_NUMBERS = frozenset({"number", "first", "last", "count", "gone"})


class Malformed(InterlockError):
    """A text is not a statement as the builder writes them."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. `hash` is a Merkle root: over the events with the ids `first` to `last`, or over `count` cuts.

    Of a cut `gone` is the id up to which the events have gone; of a root it is 0. `previous` is the hash of the
    statement before, `key` the public key that it is signed with, both in hexadecimal digits, as `hash` is.
    """

    number: int
    count: int
    hash: str
    previous: str
    at: datetime
    key: str
    first: int = 0
    last: int = 0
    gone: int = 0

    @property
    def is_cut(self) -> bool:
        """Whether it says what has gone, and not what is there."""
        return self.gone > 0

    def text(self) -> str:
        """The text that is signed: the kind, then a line for each fact, with no line feed at the end."""
        kind, names = ("interlock-cut-1", _CUT) if self.is_cut else ("interlock-root-1", _ROOT)
        facts: dict[str, Any] = {name: getattr(self, name) for name in names} | {"at": moment(self.at)}
        return "\n".join([kind, *(f"{name}: {facts[name]}" for name in names)])


def parse(text: str) -> Statement:
    """Return the statement that a text is. Raises Malformed where it is not exactly what `text` writes."""
    kind, *lines = text.split("\n")
    names = _KINDS.get(kind, ())
    facts: dict[str, Any] = dict(line.split(": ", 1) for line in lines if ": " in line)
    try:
        facts |= {name: int(facts[name]) for name in names if name in _NUMBERS}
        facts["at"] = datetime.strptime(facts["at"], _MOMENT).replace(tzinfo=UTC)
        found = Statement(**facts)
    except (KeyError, TypeError, ValueError):
        found = None
    if found is None or found.text() != text:
        raise Malformed(f"not a statement of a known kind: it begins with {text[:40]!r}")
    return found


def hash_of(text: str) -> str:
    """The hash by which the next statement names this one."""
    return hashlib.sha256(text.encode()).hexdigest()


def moment(at: datetime) -> str:
    """A moment as events and statements write it: UTC, six decimals."""
    return at.astimezone(UTC).strftime(_MOMENT)


def leaf_of_event(id: int, run_ref: str, no: int, hash: bytes) -> bytes:
    """What stands in a root for an event: four lines that name it, the last of which is its hash in its run's chain."""
    return f"{id}\n{run_ref}\n{no}\n{hash.hex()}".encode()


def leaf_of_cut(run_ref: str, no: int, hash: bytes) -> bytes:
    """What stands in a cut for a chain whose beginning went: its last event that went."""
    return f"{run_ref}\n{no}\n{hash.hex()}".encode()


def line(text: str, signature: bytes) -> str:
    """A statement with its signature as one line of JSON: what anchors keep and bundles hold."""
    return json.dumps(
        {"statement": text, "signature": base64.b64encode(signature).decode()}, ensure_ascii=False
    )


def from_line(written: str) -> tuple[str, bytes]:
    """Return statement and signature of such a line. Raises Malformed."""
    try:
        found = json.loads(written)
        return str(found["statement"]), base64.b64decode(found["signature"], validate=True)
    except (ValueError, TypeError, KeyError, binascii.Error):
        raise Malformed(f"not a line of JSON with statement and signature: {written[:40]!r}") from None
