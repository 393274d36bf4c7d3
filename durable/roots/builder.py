"""Makes the roots that are due: one statement for each period of complete events, signed, in a chain of its own.

It reads events and adds statements: no writer of the ledger ever waits for it. Two builders at once do no harm, one of
them does nothing. Killed at any point, it goes on from the newest statement that is there.
"""

from __future__ import annotations

from typing import Any

from django.db import connection

from durable import clock
from durable.beats import committing
from durable.models import LedgerEvent, Root
from durable.roots import horizon, signing
from durable.roots.merkle import Tree
from durable.roots.statement import NOTHING, Statement, hash_of, leaf_of_event

#: Events of one root at most: what a proof must read, and what a builder holds in memory.
SIZE = 65_536
#: Roots of one pass at most; the next goes on from there.
MOST = 100
_LOCK = 0x1A7E_4001


def build(*, size: int = SIZE, most: int = MOST) -> int:
    """Make every root that is due, of up to `size` events each. Returns how many. Raises NoKey, OutOfOrder."""
    signing.public_key()
    reached, made = horizon.reach(), 0
    while made < most:
        with committing("root"):
            if not _alone() or not _add(reached, size):
                break
        made += 1
    return made


def append(**facts: Any) -> Root:
    """Add the next statement with these facts, in the caller's transaction, which holds the builders' lock."""
    newest = Root.objects.order_by("-number").first()
    statement = Statement(
        number=newest.number + 1 if newest else 1,
        previous=hash_of(newest.statement) if newest else NOTHING,
        at=clock.db_now(),
        key=signing.public_key(),
        **facts,
    )
    text = statement.text()
    return Root.objects.create(
        number=statement.number,
        last=statement.last or (newest.last if newest else 0),
        statement=text,
        signature=signing.sign(text),
    )


def hold() -> None:
    """Wait until no builder is at work, and keep others out until the caller's transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _alone() -> bool:
    """Whether no other builder is at work; until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        return bool(cursor.fetchone()[0])


def _add(reached: int, size: int) -> Root | None:
    """Make the root of the oldest events without one, as far as they are complete. None where there are none."""
    covered = Root.objects.order_by("-number").values_list("last", flat=True).first() or 0
    due = LedgerEvent.objects.filter(id__gt=covered, id__lte=reached).order_by("id")[:size]
    tree, first, last = Tree(), 0, 0
    for id, run_ref, no, hash in due.values_list("id", "run_ref", "no", "hash").iterator():
        tree.add(leaf_of_event(id, run_ref, no, bytes(hash)))
        first, last = first or id, id
    if not tree.count:
        return None
    return append(first=first, last=last, count=tree.count, hash=tree.root().hex())
