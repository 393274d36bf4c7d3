"""The place that is left for retention: whole periods of events may go, their roots stay, and chains still verify.

A cut is a statement like a root, signed and kept outside like one: it says up to which event everything has gone, and
is the Merkle root over what is left of the chains that it cuts: of each, the last event that went. The events
themselves are deleted afterwards, by whoever may, in as many steps as they like; until then they still verify.
"""

from __future__ import annotations

from django.db import connection

from durable.errors import Conflict, NotFound
from durable.models import Root, SignKey
from durable.roots import builder, signing
from durable.roots.merkle import Tree
from durable.roots.reading import stream
from durable.roots.statement import leaf_of_cut, parse

_ENDS = """
SELECT DISTINCT ON (run_ref COLLATE "C") run_ref, no, hash FROM durable_ledgerevent WHERE id <= %s
ORDER BY run_ref COLLATE "C", no DESC
"""
_KEEP = f"INSERT INTO durable_cut (root_id, run_ref, no, hash) SELECT %s, run_ref, no, hash FROM ({_ENDS}) AS ends"


def cut(upto: int) -> Root:
    """Write down that the events of all roots up to the number `upto` go, in the caller's transaction. Returns the cut.

    Verify first: what was changed before it goes can't be found afterwards. Raises NotFound, or Conflict where nothing
    of that root is there to go, or where the database would not take the signature.
    """
    key = signing.public_key()
    if not SignKey.objects.filter(key=key).exists():
        raise Conflict(
            f"the database has not been told of the key {key}: run `manage.py migrate` where INTERLOCK_SIGN_KEY or "
            "INTERLOCK_PUBLIC_KEYS names it"
        )
    builder.hold()
    root = Root.objects.filter(number=upto).first()
    if root is None:
        raise NotFound(f"no root {upto}")
    if parse(root.statement).is_cut:
        raise Conflict(f"{upto} is a cut, and no root over events")
    tree = Tree()
    for run_ref, no, hash in stream(connection.connection, _ENDS, [root.last]):
        tree.add(leaf_of_cut(run_ref, no, hash))
    if not tree.count:
        raise Conflict(f"the events up to root {upto} have gone already")
    made = builder.append(gone=root.last, count=tree.count, hash=tree.root().hex())
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [made.number, root.last])
    return made
