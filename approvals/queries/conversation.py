"""A run's conversation in pages: its own messages and those of the branches that it begins with, newest page first."""

from __future__ import annotations

from typing import Any

from approvals.queries import pages
from durable.models import Run
from durable.sql import answers
from durable.text import cut

#: More than what a reader takes for one character is ever made of.
_NEAR = 64
#: Characters of one message on a page of many; its own page shows it whole.
CUT = 6_000

# The branches of a conversation, each up to the message at which the next begins; numbers run through all of them.
_PAGE = """
WITH RECURSIVE line (id, count, parent_id, base_count) AS (
    SELECT b.id, %(count)s::int, b.parent_id, b.base_count FROM durable_branch b WHERE b.id = %(branch)s
    UNION ALL
    SELECT b.id, least(line.base_count, line.count), b.parent_id, b.base_count
    FROM line JOIN durable_branch b ON b.id = line.parent_id
)
SELECT m.no, m.role, m.at, jsonb_typeof(m.content) = 'string',
       CASE jsonb_typeof(m.content) WHEN 'string' THEN m.content #>> '{{}}' ELSE m.content::text END
FROM line JOIN durable_message m ON m.branch_id = line.id AND m.no <= line.count
WHERE m.no >= %(low)s AND m.no <= %(high)s
ORDER BY m.no {order} LIMIT %(limit)s
"""
_LAST = 2**31 - 1


def page(run: Run, *, after: int | None, before: int | None) -> dict[str, Any]:
    """One page of messages, read downwards. `after` continues towards older ones, `before` towards newer ones."""
    if before is not None:
        rows = _read(run, before + 1, _LAST, "ASC")
    else:
        rows = _read(run, 1, _LAST if after is None else after - 1, "DESC")[::-1]
    first, last = (rows[0]["no"], rows[-1]["no"]) if rows else (1, run.message_count)
    shown = pages.Page(
        rows[::-1], str(last) if last < run.message_count else "", str(first) if first > 1 else ""
    )
    return {"said": rows, "page": shown.context(0) | {"total": f"{run.message_count:,}"}}


def whole(run: Run, no: int) -> dict[str, Any]:
    """One message in full; nothing where it is not there."""
    rows = _read(run, no, no, "ASC", most=None)
    return {"said": rows, "page": None}


def _read(run: Run, low: int, high: int, order: str, *, most: int | None = CUT) -> list[pages.Row]:
    where = {
        "branch": run.branch_id,
        "count": run.message_count,
        "low": min(low, _LAST),
        "high": max(min(high, _LAST), 0),
    }
    found = answers(_PAGE.format(order=order), where | {"limit": pages.PAGE})
    return [_row(*row, most=most) for row in found]


def _row(no: int, role: str, at: object, plainly: bool, text: str, *, most: int | None) -> pages.Row:
    long = most is not None and len(text) > most
    shown = _begin(text, most) if most is not None and long else text
    # What was cut is no JSON any more: it stands as the text that it is.
    return {
        "no": no,
        "role": role,
        "at": at,
        "text": shown if plainly or long else "",
        "json": "" if plainly or long else text,
        "left": len(text) - len(shown),
    }


def _begin(text: str, limit: int) -> str:
    """As much of a text as fits, cut between what a reader sees as characters, of which the last few tell where."""
    sure = limit - _NEAR
    return text[:sure] + cut(text[sure : limit + _NEAR], _NEAR + 1).removesuffix("…")
