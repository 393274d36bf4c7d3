"""The fused statements at the beginning and the end of a run's life, in the manner of `durable.transitions.hot`.

`START` makes a run with all that belongs to it, and answers with it; with nothing where its key has made one before.
"""

from __future__ import annotations

from durable.models import Run
from durable.models.rows import columns

RUN = columns(Run, "r")

START = f"""
WITH budget AS (
    INSERT INTO durable_budget (steps_limit, steps_used, tokens_limit, tokens_used, tokens_reserved, deadline)
    SELECT %(steps)s::bigint, 0, %(tokens)s::bigint, 0, 0, clock_timestamp() + %(within)s::interval
    WHERE NOT EXISTS (SELECT FROM durable_run WHERE start_key = %(start_key)s)
    RETURNING id
), purse AS (
    INSERT INTO durable_purse (budget_id, currency, limit_minor, reserved_minor, spent_minor)
    SELECT budget.id, p.currency, p.minor, 0, 0
    FROM budget, unnest(%(currencies)s::text[], %(limits)s::bigint[]) AS p (currency, minor)
), branch AS (
    INSERT INTO durable_branch (base_count) SELECT 0 FROM budget RETURNING id
), r AS (
    INSERT INTO durable_run (ref, agent, start_key, input, input_digest, requester, durability, state, step, visit,
        tries, version, branch_id, message_count, attempt, nonce, worker, crashes, held, undo_after, budget_id, error,
        due_at, hinted_at)
    SELECT %(ref)s, %(agent)s, %(start_key)s, %(input)s, %(digest)s, %(actor)s, %(durability)s, 'queued', %(step)s, 1,
        0, 1, branch.id, 0, 0, '', '', 0, false, false, budget.id, '',
        clock_timestamp(), clock_timestamp()  -- it is announced right after the commit
    FROM budget, branch
    RETURNING *
), seal AS (
    INSERT INTO durable_sealkey (run_id, wrapped) SELECT r.id, %(wrapped)s FROM r
), written AS (
    INSERT INTO durable_checkpoint (run_id, version, kind, step, visit, next_step, next_visit, attempt, state,
        state_version, progress, branch_id, message_count, compaction_base, budget)
    SELECT r.id, r.version, 'start', '', 1, r.step, r.visit, 0, '{{}}', r.version, '{{}}', r.branch_id, 0, 0,
        '{{"steps": 0, "tokens": 0}}'
    FROM r
), told AS (
    INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body)
    SELECT r.ref, 'started', '', %(teller)s, %(body)s FROM r
)
SELECT {RUN} FROM r
"""
