"""Whom effects are about: their names, unsealed, and the effects behind a name or a part of one."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings

from approvals import moments, opened
from approvals.ledger_query import KINDS, Part
from approvals.queries import words
from durable import names, tools, vault
from durable.digest import keyed_hash, normal
from durable.errors import InterlockError, Invalid
from durable.models import Sealed, SubjectName
from durable.sql import answers
from durable.text import quoted

#: More names than this are no answer; and of so many at most it is seen whether they hold the part.
MOST, LOOKED_THROUGH = 200, 2_000
#: Bytes of a sealed payload beyond which a list does not open it to say whom it is about.
_LONG = 32_768

_NAMES = f"""
SELECT kind, hash, box FROM durable_subjectname
WHERE grams @> %(grams)s::int4[] AND (%(kind)s = '' OR kind = %(kind)s) LIMIT {LOOKED_THROUGH + 1}
"""
_OF_EFFECTS = """
SELECT e.id, k.wrapped, r.ref, p.digest, CASE WHEN length(p.box) <= %(most)s THEN p.box END, k.destroyed_at,
       EXISTS (SELECT FROM durable_erasurerun x WHERE x.run_id = e.run_id AND x.state = 'erased'),
       (SELECT json_object_agg(s.kind, s.hash)::text FROM durable_subject s WHERE s.effect_id = e.id)
FROM durable_effect e
    JOIN durable_run r ON r.id = e.run_id
    JOIN durable_sealed p ON p.id = e.payload_id
    LEFT JOIN durable_sealkey k ON k.run_id = e.run_id
WHERE e.id = ANY(%(ids)s::bigint[])
"""


@dataclass(frozen=True, slots=True)
class Name:
    """A name of a subject that effects are about."""

    kind: str
    text: str
    hash: str


@dataclass(frozen=True, slots=True)
class Named:
    """What a name, or a part of one, comes to: the hashes of its subjects; where a part was looked for, the names."""

    hashes: list[str] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    problem: str = ""


def kinds() -> list[str]:
    """The kinds of subjects that effects may be filed under."""
    declared = {kind for tool in tools.all_tools() for kind in tool.facts.subjects}
    return sorted({*KINDS, *declared})


def hashes(text: str, of: Collection[str] = ()) -> list[str]:
    """The keyed hashes under which effects about `text` are filed, whatever kind, or which of these, it names."""
    try:
        return [keyed_hash(kind, text, settings.INTERLOCK_HASH_KEY) for kind in of or kinds()]
    except Invalid:
        return []


def named(kind: str, part: Part) -> Named:
    """The subjects of a kind (empty for any) that are called so, or whose names hold the part."""
    if part.begins and part.ends:
        return Named(hashes(part.text, [kind] if kind else []))
    wanted = normal(part.text)
    if len(wanted) < names.GRAM:
        return Named(
            problem=f"{quoted(part.text)}: give at least {names.GRAM} letters or digits beside the star."
        )
    rows = answers(_NAMES, {"grams": names.grams(part.text), "kind": kind})
    if len(rows) > LOOKED_THROUGH:
        return Named(problem=_too_many(part.text))
    found = [name for name in map(_opened, rows) if name is not None and _holds(name.text, part, wanted)]
    if len(found) > MOST:
        return Named(problem=_too_many(part.text))
    found.sort(key=lambda name: (name.kind, name.text))
    return Named([name.hash for name in found], found)


def _too_many(text: str) -> str:
    return f"{quoted(text)}: too many names hold this; give more of the one that you mean."


def _holds(name: str, part: Part, wanted: str) -> bool:
    plain = normal(name)
    if part.begins:
        return plain.startswith(wanted)
    return plain.endswith(wanted) if part.ends else wanted in plain


def _opened(row: tuple[Any, ...]) -> Name | None:
    kind, hash, box = row
    try:
        return Name(kind, names.read(hash, bytes(box)), hash)
    except vault.Tampered:
        return None


def name_of(hash: str) -> str:
    """The name behind a hash, as the index has it; empty where it has none."""
    row = SubjectName.objects.filter(hash=hash).values_list("kind", "hash", "box").first()
    found = None if row is None else _opened(row)
    return "" if found is None else found.text


def of_effects(ids: Iterable[int]) -> dict[int, str]:
    """Whom each of these effects is about, in words: `order 8812, customer cus_1`, or to whom it goes where it declares
    no subject; `(erased on …)` where it was, `(no longer kept since …)` where it went otherwise. One query, which reads
    no long payload.
    """
    found: dict[int, str] = {}
    keys: dict[str, bytes] = {}
    asked = list(ids)
    rows = answers(_OF_EFFECTS, {"ids": asked, "most": _LONG}) if asked else []
    for id, wrapped, ref, digest, box, gone, erased, told in rows:
        hashes = json.loads(told) if told else {}
        if wrapped is None:
            found[id] = _lost(gone, erased=erased) if hashes else ""
        elif box is not None:
            found[id] = _about(keys, wrapped, ref, Sealed(digest=digest, box=box), hashes)
    return found


def whom(wrapped: Any, ref: str, payload: Sealed) -> str:
    """To whom, or about what, one payload is, by its arguments alone; empty where it can't be read."""
    return _about({}, wrapped, ref, payload, {})


def _about(keys: dict[str, bytes], wrapped: Any, ref: str, payload: Sealed, hashes: dict[str, str]) -> str:
    try:
        keys[ref] = keys.get(ref) or vault.unwrap(bytes(wrapped), ref)
        asked = vault.unseal(keys[ref], payload)
        known = sorted(names.named(asked["args"], hashes).items(), key=_order)
        if known:
            return ", ".join(words.thing(kind, text) for kind, text in known)
        secret = tools.get(asked["tool"]).facts.secret
    except InterlockError:
        return ""
    return words.subject({name: value for name, value in asked["args"].items() if name not in secret})


def _lost(at: datetime | None, *, erased: bool) -> str:
    """What stands in place of a name whose key was destroyed."""
    if at is None:
        return opened.GONE
    return f"(erased on {moments.day(at)})" if erased else f"(no longer kept since {moments.day(at)})"


def _order(one: tuple[str, str]) -> tuple[bool, str]:
    return one[0] != "order", one[0]
