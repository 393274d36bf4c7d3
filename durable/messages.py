"""The conversation: stored once, as messages that are only added, numbered within their branch.

A fork's branch begins with its parent's first messages, by reference; nothing is copied.
"""

from __future__ import annotations

import json
from typing import Any

from durable.sql import answers

# Most of what is said is text: that comes as itself, not as JSON to be decoded. A long one is unpacked once for both
# questions about it.
_SAID = """
WITH RECURSIVE line (id, count, parent_id, base_count) AS (
    SELECT b.id, %(count)s::int, b.parent_id, b.base_count FROM durable_branch b WHERE b.id = %(branch)s
    UNION ALL
    SELECT b.id, least(line.base_count, line.count), b.parent_id, b.base_count
    FROM line JOIN durable_branch b ON b.id = line.parent_id
)
SELECT m.no, m.role, jsonb_typeof(unpacked.content) = 'string', unpacked.content #>> '{}'
FROM line JOIN durable_message m ON m.branch_id = line.id AND m.no <= line.count
CROSS JOIN LATERAL (SELECT m.content #> '{}' AS content OFFSET 0) unpacked
ORDER BY m.no
"""


def conversation(branch_id: int, count: int) -> list[dict[str, Any]]:
    """Return the first `count` messages of a branch as {no, role, content}, those of its ancestors included."""
    return [
        {"no": no, "role": role, "content": content if plainly else json.loads(content)}
        for no, role, plainly, content in answers(_SAID, {"branch": branch_id, "count": count})
    ]
