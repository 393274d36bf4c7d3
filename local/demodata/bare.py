"""Tables without their triggers, keys and indexes, for the length of one transaction of their owner.

All of it is read from the catalogue and put back as it was found, so a migration needs no change here. Data definition
is transactional in PostgreSQL: whatever ends the transaction early, a kill included, leaves everything on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db.backends.utils import CursorWrapper

_TRIGGERS = """
SELECT format('ALTER TABLE %%s DISABLE TRIGGER %%I', tgrelid::regclass, tgname),
       format('ALTER TABLE %%s ENABLE %%s TRIGGER %%I', tgrelid::regclass,
              CASE tgenabled WHEN 'A' THEN 'ALWAYS' WHEN 'R' THEN 'REPLICA' ELSE '' END, tgname)
FROM pg_trigger
WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgrelid = ANY(%s::regclass[])
ORDER BY 1
"""
_CONSTRAINTS = """
SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname),
       format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint
WHERE contype::text = ANY(%s) AND (conrelid = ANY(%s::regclass[]) OR confrelid = ANY(%s::regclass[]))
ORDER BY 1
"""
_INDEXES = """
SELECT format('DROP INDEX %%s', indexrelid::regclass), pg_get_indexdef(indexrelid)
FROM pg_index
WHERE indrelid = ANY(%s::regclass[])
  AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u', 'x'))
ORDER BY 1
"""


@dataclass(frozen=True)
class Covering:
    """One thing that covers a table: the statements that take it off and put it on."""

    off: str
    on: str


def coverings(cursor: CursorWrapper, tables: Sequence[str]) -> list[Covering]:
    """Return all that covers the tables, in the order in which it may be taken off: foreign keys before what they
    point at.
    """
    names = list(tables)
    found: list[tuple[str, str]] = []
    cursor.execute(_TRIGGERS, [names])
    found += cursor.fetchall()
    for kinds in (["f"], ["p", "u"]):
        cursor.execute(_CONSTRAINTS, [kinds, names, names])
        found += cursor.fetchall()
    cursor.execute(_INDEXES, [names])
    found += cursor.fetchall()
    return [Covering(off, on) for off, on in found]


@contextmanager
def uncovered(cursor: CursorWrapper, tables: Sequence[str]) -> Iterator[None]:
    """Take everything off the tables inside the owner's open transaction, and put it back, checked against the rows.

    An error in the block leaves it to the end of the transaction, which puts all back.
    """
    found = coverings(cursor, tables)
    for covering in found:
        cursor.execute(covering.off)
    yield
    for covering in reversed(found):
        cursor.execute(covering.on)
