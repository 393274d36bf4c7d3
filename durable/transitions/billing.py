"""The fused statements around a model call: its tokens reserved before it, its answer recorded and billed after it.

Neither waits for the disk by itself: whatever the run does outside is a commit that takes them along. `KEPT` and
`BILLED` are parts for other statements: so an answer goes on record with what the worker writes next, an intent above
all, and costs no commit of its own. `{run}` is what they call the part that has found the run, and may write.
"""

from __future__ import annotations

from durable.transitions.fence import LAZILY_FENCED

KEPT = """
), kept AS (
    UPDATE durable_frozen f
    SET answered = true, result = %(answer)s::jsonb, tokens = f.tokens + %(bill_tokens)s::bigint, reserved = 0
    FROM {run} WHERE f.id = %(bill)s::bigint AND f.run_id = {run}.id"""

BILLED = (
    KEPT
    + """
), billed AS (
    UPDATE durable_budget b
    SET tokens_reserved = b.tokens_reserved - %(bill_reserved)s::bigint,
        tokens_used = b.tokens_used + %(bill_tokens)s::bigint
    FROM {run} WHERE b.id = {run}.budget_id"""
)

BILL = f"""{LAZILY_FENCED}{BILLED.format(run="fenced")}
)
SELECT id FROM fenced
"""

# The answer that is there already comes back with it, and then nothing is reserved. A call that a crash cut off here
# keeps its old reservation as spent: the vendor may have billed it.
RESERVE = f"""{LAZILY_FENCED}), here AS (
    SELECT f.id, f.result, f.reserved,
        f.tool = %(tool)s AND f.args_digest = %(digest)s AND f.answered AND f.reserved = 0 AND f.result IS NOT NULL
            AS known
    FROM durable_frozen f JOIN fenced ON fenced.id = f.run_id
    WHERE f.step = %(step)s AND f.visit = %(visit)s AND f.ordinal = %(ordinal)s
), roomy AS (
    UPDATE durable_budget b
    SET tokens_reserved = b.tokens_reserved + %(tokens)s::bigint - coalesce((SELECT reserved FROM here), 0),
        tokens_used = b.tokens_used + coalesce((SELECT reserved FROM here), 0)
    FROM fenced WHERE b.id = fenced.budget_id AND NOT EXISTS (SELECT FROM here WHERE known)
      AND (b.tokens_limit IS NULL OR b.tokens_limit >= b.tokens_used + b.tokens_reserved + %(tokens)s::bigint)
    RETURNING b.id
), written AS (
    INSERT INTO durable_frozen (run_id, step, visit, ordinal, tool, args_digest, result, answered, reserved, tokens,
        fetched_at)
    SELECT fenced.id, %(step)s, %(visit)s, %(ordinal)s, %(tool)s, %(digest)s, NULL, false, %(tokens)s::bigint, 0,
        clock_timestamp()
    FROM fenced, roomy
    ON CONFLICT (run_id, step, visit, ordinal) DO UPDATE
    SET tool = excluded.tool, args_digest = excluded.args_digest, result = NULL, answered = false,
        reserved = excluded.reserved, tokens = durable_frozen.tokens + durable_frozen.reserved,
        fetched_at = excluded.fetched_at, fresh_until = NULL
    RETURNING id
)
SELECT coalesce(here.known, false), here.result, written.id
FROM fenced LEFT JOIN here ON true LEFT JOIN written ON true
"""
