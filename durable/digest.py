"""One value, one sequence of bytes: canonical JSON (RFC 8785) and the hashes over it."""

from __future__ import annotations

import hashlib
import hmac
import json
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import rfc8785
from pydantic import BaseModel

from durable.errors import Invalid
from durable.text import MAX_DEPTH, MAX_INT, check_json, check_text, join

MAX_CANONICAL_BYTES = 16 * 1024 * 1024
# What passed the door at its deepest is still wrapped in the engine's own objects.
MAX_CANONICAL_DEPTH = MAX_DEPTH + 8
_MAX_DECIMAL_DIGITS = 64
_MIN_SECRET_BYTES = 16
_AS_IT_IS = frozenset({str, int, float, bool, type(None)})
_PLAINLY = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def plain(
    value: object,
    field: str = "value",
    *,
    max_bytes: int = MAX_CANONICAL_BYTES,
    max_depth: int = MAX_CANONICAL_DEPTH,
) -> Any:
    """`value` as plain JSON, in new containers: dict, list, str, int, float, bool, None.

    A Decimal becomes a string in plain notation as it is written (4E+1 -> "40", 40.00 -> "40.00"), an aware
    datetime ISO 8601 in UTC with `Z`, a date or UUID its text, an enum its value, a pydantic model its
    fields. All else is `Invalid`.
    """
    built = _plain(value, (field,), max_depth)
    check_json(built, field, max_bytes=max_bytes, max_depth=max_depth)
    return built


def canonical(value: object, field: str = "value") -> bytes:
    """The RFC 8785 bytes of `value` (see `plain`). The order of keys does not matter; 1 and 1.0 are equal."""
    return _written(plain(value, field))


def sha256(data: bytes) -> str:
    """SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def digest(value: object, field: str = "value") -> str:
    """SHA-256 over the canonical bytes of `value`."""
    return sha256(canonical(value, field))


def keyed_hash(kind: str, value: str, secret: bytes) -> str:
    """HMAC-SHA256 (hexadecimal) by which a subject is found without storing its name.

    `kind` is what the value is (`order`, `customer`), so that equal texts of two kinds differ. The value is
    compared as a person would: surrounding spaces, case and the way accents are composed do not count. Each
    field is prefixed with its length: no two pairs run together. `secret` has at least 16 bytes.
    """
    if len(secret) < _MIN_SECRET_BYTES:
        raise Invalid("secret", f"must have at least {_MIN_SECRET_BYTES} bytes")
    mac = hmac.new(secret, digestmod=hashlib.sha256)
    for part in (check_text(kind, "kind"), normal(check_text(value, kind))):
        data = part.encode("utf-8")
        mac.update(len(data).to_bytes(8, "big") + data)
    return mac.hexdigest()


def about(key: str, once_per: str, subjects: Iterable[str]) -> str:
    """SHA-256 (hexadecimal) over whom an effect concerns, for the ledger to hold its rows to: `subjects` are lines of a
    kind and a keyed hash, `once_per` is the keyed hash of what may happen once, or "".

    The effect's key is in it, so that effects of one person have nothing in common that could be seen.
    """
    return sha256("\n".join([key, once_per, *sorted(subjects)]).encode())


def normal(value: str) -> str:
    """A subject's name as it is compared: without surrounding spaces, case, and ways of composing accents."""
    # Unicode's canonical caseless match folds the decomposed form; composing afterwards only shortens it.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", value.strip()).casefold())


def _plain(value: object, path: tuple[object, ...], levels: int) -> Any:
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, BaseModel):
        value = dict(value)
    if isinstance(value, Mapping | list | tuple):
        if levels == 0:
            return value  # check_json refuses it, in its own words
        if isinstance(value, Mapping):
            # Keys stay as they are: check_json names the one that is not text.
            return {key: _plain(item, (*path, key), levels - 1) for key, item in value.items()}
        return [_plain(item, (*path, place), levels - 1) for place, item in enumerate(value)]
    if isinstance(value, Enum):
        return _plain(value.value, path, levels)
    if isinstance(value, Decimal):
        return _decimal(value, path)
    if isinstance(value, datetime):
        return _moment(value, path)
    if isinstance(value, date | UUID):
        return str(value)
    return value


def _decimal(value: Decimal, path: tuple[object, ...]) -> str:
    if not value.is_finite():
        raise Invalid(_at(path), "must be a finite number, not NaN or infinity")
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    if max(abs(exponent), abs(value.adjusted())) > _MAX_DECIMAL_DIGITS:
        raise Invalid(_at(path), f"must have at most {_MAX_DECIMAL_DIGITS} digits before or after the point")
    return format(abs(value) if value.is_zero() else value, "f")


def _moment(value: datetime, path: tuple[object, ...]) -> str:
    if value.utcoffset() is None:
        raise Invalid(_at(path), "must be a time with a time zone")
    return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _at(path: tuple[object, ...]) -> str:
    return join(str(path[0]), *path[1:])


def _written(value: Any) -> bytes:
    """The RFC 8785 bytes of plain JSON. Without fractions and beyond-ASCII text they are what the standard library
    writes, which takes a tenth of the time: the order of keys and the form of numbers are what differs.
    """
    if not _has_float(value):
        text = _PLAINLY.encode(value)
        if text.isascii():
            return text.encode()
    return rfc8785.dumps(_exact(value))


def _has_float(value: Any) -> bool:
    if type(value) is dict:
        return any(map(_has_float, value.values()))
    if type(value) is list:
        return any(map(_has_float, value))
    return type(value) is float


def _exact(value: Any) -> Any:
    """The same, with ±2^53 as floats: the library stops one short of it, though a double holds it exactly."""
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, int) and abs(value) == MAX_INT:
        return float(value)
    return value
