"""The system page's part about tamper evidence: roots, anchors, and what is wrong with them."""

from __future__ import annotations

from datetime import datetime

from approvals.queries import pages
from approvals.queries.parts import NONE, Part, Trouble
from approvals.queries.words import WORDS
from approvals.templatetags.interlock import span
from durable.roots import status
from durable.text import quoted


def evidence(part: Part, now: datetime) -> None:
    """Read how it stands."""
    found = status.read()
    part.facts = [
        ("Newest root", f"{found.newest}, {span(now - found.made)} ago" if found.made else "none yet"),
        ("Events that no root outside covers", pages.words(found.open)),
    ]
    part.head = ("Kept outside by", "Up to root", "Last", "Failing")
    part.table = [
        (
            name,
            str(one.kept),
            f"{span(now - one.kept_at)} ago" if one.kept_at else "never",
            f"for {span(now - one.failing_since)}: {one.trouble}" if one.failing_since else NONE,
        )
        for name, one in found.anchors.items()
    ]
    part.note = (
        "Roots are signed hashes over all events; what is kept outside shows whoever rewrites the database."
    )
    if not found.anchors:
        part.troubles.append(
            Trouble("No anchor keeps roots outside of the database.", "Name one in INTERLOCK_ANCHORS.")
        )
    for one in found.failing(now):
        length = span(now - (one.failing_since or now))
        part.troubles.append(
            Trouble(
                f"The anchor {one.name} has kept no root for {length}: {quoted(one.trouble, WORDS)}.",
                "It is tried again by itself. See Tamper evidence in docs/operations.md.",
            )
        )
    if late := found.late(now):
        held_up = found.marked is not None and now - found.marked > status.LATE
        part.troubles.append(
            Trouble(
                f"For {span(late)} no root has been made over new events.",
                "A transaction is open that began before them: see pg_stat_activity and pg_prepared_xacts."
                if held_up
                else "See that beat runs, and a worker for the queue retention that has INTERLOCK_SIGN_KEY.",
            )
        )
