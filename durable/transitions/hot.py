"""The fused statements of the hot path: one round trip and one commit each, however long the run.

`CLAIM` takes a due run; `CHECKPOINT` ends a step; `KEEP` freezes what a read returned. Each checks and writes in one
statement, so that no reader ever sees half of it. The answer of `CHECKPOINT` tells the worker what it must know before
the next step: whether the deadline is over and whether an operator holds the run.
"""

from __future__ import annotations

from durable.transitions.billing import KEPT
from durable.transitions.fence import LAZILY_FENCED

CLAIM = """
WITH mode AS (
    SELECT set_config('lock_timeout', %(patience)s, true)
), due AS (
    SELECT r.id, r.lease_until IS NOT NULL AS lost FROM mode, durable_run r
    WHERE r.ref = %(ref)s
      AND CASE WHEN r.lease_until IS NULL
               THEN r.due_at <= clock_timestamp() AND r.state IN ('queued', 'failing', 'cancelling', 'compensating')
               ELSE r.lease_until < clock_timestamp() END
    FOR UPDATE OF r
), taken AS (
    UPDATE durable_run r
    SET attempt = r.attempt + 1, nonce = %(nonce)s, worker = %(worker)s,
        lease_until = clock_timestamp() + %(lease)s, due_at = NULL, hinted_at = NULL,
        crashes = r.crashes + due.lost::int, changed_at = clock_timestamp(),
        state = CASE r.state WHEN 'queued' THEN 'running' ELSE r.state END
    FROM due WHERE r.id = due.id
    RETURNING r.*, due.lost
), past AS (
    UPDATE durable_attempt a SET ended_at = clock_timestamp(), how = 'lost'
    FROM taken WHERE a.run_id = taken.id AND a.how = '' RETURNING a.id
), new AS (
    INSERT INTO durable_attempt (run_id, number, worker, how) SELECT id, attempt, worker, '' FROM taken RETURNING id
), told AS (
    INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body)
    SELECT ref, 'attempt lost', '', 'interlock', '{"attempt":' || attempt - 1 || '}' FROM taken WHERE lost
    UNION ALL
    SELECT ref, 'resumed', '', worker, '{"attempt":' || attempt || ',"version":' || version || '}'
    FROM taken WHERE attempt > 1
)
SELECT t.id, t.attempt, t.version, k.wrapped
FROM taken t JOIN durable_sealkey k ON k.run_id = t.id
"""

#: What a checkpoint writes beside the run's row (`fenced`), which has followed it, and the budget's (`spent`). It lacks
#: its last bracket: another part may follow.
WRITTEN = """said AS (
    INSERT INTO durable_message (branch_id, no, role, content)
    SELECT fenced.branch_id, m.no, m.role, m.content
    FROM fenced, unnest(%(message_nos)s::int[], %(roles)s::text[], %(contents)s::jsonb[]) AS m (no, role, content)
), written AS (
    INSERT INTO durable_checkpoint (run_id, version, kind, step, visit, next_step, next_visit, attempt, state,
        state_version, progress, branch_id, message_count, compaction_base, budget)
    SELECT fenced.id, fenced.version, %(kind)s, %(step)s, %(visit)s, %(next_step)s, %(next_visit)s, %(attempt)s,
        %(state)s::jsonb, coalesce(%(state_version)s::int, fenced.version), %(progress)s::jsonb, fenced.branch_id,
        %(message_count)s, %(compaction_base)s,
        jsonb_build_object('steps', spent.steps_used, 'tokens', spent.tokens_used)
    FROM fenced, spent"""

_CHECKPOINT = """
WITH mode AS (
    SELECT set_config('synchronous_commit', %(commit)s, true)
), fenced AS (
    UPDATE durable_run r
    SET version = r.version + %(steps)s, step = %(next_step)s, visit = %(next_visit)s, tries = 0, crashes = 0,
        message_count = %(message_count)s,
        lease_until = clock_timestamp() + %(lease)s
    FROM mode
    WHERE r.id = %(run)s AND r.attempt = %(attempt)s AND r.nonce = %(nonce)s AND r.version = %(version)s
      AND r.state = 'running' AND r.lease_until > clock_timestamp()
    RETURNING r.id, r.version, r.budget_id, r.branch_id, r.held
), spent AS (
    UPDATE durable_budget b SET steps_used = b.steps_used + %(steps)s{tokens} FROM fenced WHERE b.id = fenced.budget_id
    RETURNING b.steps_used, b.steps_limit, b.tokens_used, b.deadline
), {written}{kept}
)
SELECT fenced.version, fenced.held, coalesce(spent.deadline <= clock_timestamp(), false),
       spent.steps_limit IS NOT NULL AND spent.steps_used >= spent.steps_limit
FROM fenced, spent
"""

CHECKPOINT = _CHECKPOINT.format(tokens="", written=WRITTEN, kept="")
#: The same, with a model's answer that waits to be on record.
CHECKPOINT_AND_BILL = _CHECKPOINT.format(
    tokens=""",
        tokens_reserved = b.tokens_reserved - %(bill_reserved)s::bigint,
        tokens_used = b.tokens_used + %(bill_tokens)s::bigint""",
    written=WRITTEN,
    kept=KEPT.format(run="fenced"),
)

KEEP = f"""{LAZILY_FENCED}), lost AS (
    -- A model call that a crash cut off here, and that is not repeated: its reservation is spent, not leaked.
    SELECT fenced.budget_id, f.reserved FROM durable_frozen f JOIN fenced ON fenced.id = f.run_id
    WHERE f.step = %(step)s AND f.visit = %(visit)s AND f.ordinal = %(ordinal)s AND f.reserved > 0
), billed AS (
    UPDATE durable_budget b SET tokens_reserved = b.tokens_reserved - lost.reserved,
        tokens_used = b.tokens_used + lost.reserved
    FROM lost WHERE b.id = lost.budget_id
)
INSERT INTO durable_frozen (run_id, step, visit, ordinal, tool, args_digest, result, answered, reserved, tokens,
    fetched_at, fresh_until)
SELECT id, %(step)s, %(visit)s, %(ordinal)s, %(tool)s, %(digest)s, %(result)s::jsonb, true, 0, 0,
    clock_timestamp(), clock_timestamp() + %(freshness)s::interval
FROM fenced
ON CONFLICT (run_id, step, visit, ordinal) DO UPDATE
SET tool = excluded.tool, args_digest = excluded.args_digest, result = excluded.result, answered = true, reserved = 0,
    tokens = durable_frozen.tokens + durable_frozen.reserved,
    fetched_at = excluded.fetched_at, fresh_until = excluded.fresh_until
"""
