"""The system page's part about statements of vendors: how far each account is, and what could not be made."""

from __future__ import annotations

from datetime import datetime, timedelta

from approvals.queries import pages, statements, words
from approvals.queries.parts import NONE, Part, Trouble
from approvals.queries.words import WORDS
from approvals.templatetags.interlock import span
from durable.text import quoted
from durable.vendor_statements import status
from durable.vendor_statements.accounts import uncovered

#: A newest statement whose period ended so long ago says that none is made any more.
LATE = timedelta(days=3)


def statements_part(part: Part, now: datetime) -> None:
    """Read how they stand."""
    found, missing = status.read(), uncovered()
    part.facts = [
        ("Differences to explain", pages.words(found.unexplained) if found.unexplained else "none"),
        ("Can't be listed", ", ".join(tool.name for tool in missing) if missing else "none"),
    ]
    part.head = ("Account", "Held up to", "Made")
    part.table = [
        (
            one.name,
            statements.moment(one.end) if one.end else NONE,
            f"{span(now - one.made_at)} ago" if one.made_at else "never",
        )
        for one in found.newest
    ]
    part.note = "A vendor's account of each day (UTC) is held against the ledger, some hours after it ended."
    for one in found.failing:
        period = statements.period(one.start, one.end)
        part.troubles.append(
            Trouble(
                f"The statement of {words.vendor(one.vendor)} for {period} could not be made:"
                f" {quoted(one.trouble, WORDS)}",
                f"It has been tried {one.tries} time{'' if one.tries == 1 else 's'}, and is tried again by itself.",
            )
        )
    for late in found.newest:
        if late.end is not None and now - late.end > LATE:
            part.troubles.append(
                Trouble(
                    f"The account of {late.name} was last held against the ledger up to"
                    f" {statements.moment(late.end)}.",
                    "See that beat runs, and a worker for the queue retention.",
                )
            )
