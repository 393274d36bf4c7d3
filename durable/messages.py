"""The conversation: stored once, as messages that are only added, numbered within their branch.

A fork's branch begins with its parent's first messages, by reference; nothing is copied.
"""

from __future__ import annotations

from typing import Any

from durable.models import Branch, Message


def conversation(branch_id: int, count: int) -> list[dict[str, Any]]:
    """Return the first `count` messages of a branch as {no, role, content}, those of its ancestors included."""
    branch = Branch.objects.get(pk=branch_id)
    before: list[dict[str, Any]] = []
    if branch.parent_id is not None and branch.base_count:
        before = conversation(branch.parent_id, min(branch.base_count, count))
    own = (
        Message.objects.filter(branch_id=branch_id, no__lte=count)
        .order_by("no")
        .values("no", "role", "content")
    )
    return before + [dict(message) for message in own]
