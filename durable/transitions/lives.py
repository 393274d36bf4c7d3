"""The fused statements at the beginning and the end of a run's life, in the manner of `durable.transitions.hot`.

`START` makes a run with all that belongs to it, and answers with it; with nothing where its key has made one before.
`LOAD` reads what a worker needs to go on. `RETRY` puts a failed step off, `FAIL` turns a run towards its failure, and
`END` completes it: these check their fence and write in one statement, and write nothing where it does not hold.
The others are parts of a transaction that holds the run's lock: `WAIT` opens a wait, or finds the one that is open at
its place (`WAIT_AT` finds one that is over, too); `REST` puts the run down, `REST_AT` with a checkpoint; `WRITE` is a
checkpoint by itself; `CLOSE` is an end that is no completion.

They see other tables as they were when they began, though they may have waited for the run's row since.
`END` may look for open effects so: nobody but its own worker opens one, or a wait, of a run that is on its way forward.
A hold and a cancel, which anybody may give it, stand on the run's row; an alarm outlives every end.
"""

from __future__ import annotations

from durable.models import Budget, Checkpoint, Run, Wait
from durable.models.rows import columns
from durable.sql import listed
from durable.states import OPEN
from durable.transitions.fence import FENCE
from durable.transitions.hot import WRITTEN

RUN = columns(Run, "r")

#: Nobody holds the run any more, and its attempt says how it ended.
_PUT_DOWN = "lease_until = NULL, worker = '', changed_at = clock_timestamp()"
_LET_GO = """let_go AS (
    UPDATE durable_attempt a SET ended_at = clock_timestamp(), how = %(how)s FROM fenced
    WHERE a.run_id = fenced.id AND a.number = %(attempt)s AND a.how = ''
)"""

#: The run's row follows a checkpoint.
_MOVED_ON = """version = r.version + 1, step = %(next_step)s, visit = %(next_visit)s,
        message_count = %(message_count)s"""
_SPENT = """spent AS (
    UPDATE durable_budget b SET steps_used = b.steps_used + %(steps)s FROM fenced WHERE b.id = fenced.budget_id
    RETURNING b.steps_used, b.tokens_used
)"""

#: What an end leaves behind nothing of. An alarm stays: what it says about the world is no less true when the run is
#: over. What a model call that was cut off and never repeated has reserved is billed, for its vendor may have: nobody
#: comes back to it, and it would stand in the way of every run that shares the budget.
_CLOSED = f"""withdrawn AS (
    UPDATE durable_wait w SET state = 'withdrawn', closed_at = clock_timestamp(), closed_by = 'interlock' FROM fenced
    WHERE w.run_id = fenced.id AND w.state = 'open' AND w.detail -> 'alarm' IS DISTINCT FROM 'true'
), cut_off AS (
    SELECT f.id, f.reserved FROM durable_frozen f JOIN fenced ON fenced.id = f.run_id WHERE f.reserved > 0
), billed AS (
    UPDATE durable_frozen f SET tokens = f.tokens + cut_off.reserved, reserved = 0 FROM cut_off WHERE f.id = cut_off.id
), spent AS (
    UPDATE durable_budget b
    SET steps_used = b.steps_used + %(steps)s, tokens_used = b.tokens_used + total.reserved,
        tokens_reserved = b.tokens_reserved - total.reserved
    FROM fenced, (SELECT coalesce(sum(reserved), 0)::bigint AS reserved FROM cut_off) total
    WHERE b.id = fenced.budget_id
    RETURNING b.steps_used, b.tokens_used
), told AS (
    INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body)
    SELECT ref, %(event)s, '', %(teller)s, %(body)s FROM fenced
), {_LET_GO}"""

START = f"""
WITH budget AS (
    INSERT INTO durable_budget (steps_limit, steps_used, tokens_limit, tokens_used, tokens_reserved, deadline)
    SELECT %(steps)s::bigint, 0, %(tokens)s::bigint, 0, 0, clock_timestamp() + %(within)s::interval
    WHERE NOT EXISTS (SELECT FROM durable_run WHERE start_key IN (%(start_key)s, %(erased_key)s))
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

WAIT = f"""
INSERT INTO durable_wait AS w (run_id, kind, name, step, visit, ordinal, effect_id, waits_for, detail, state, deadline,
    closed_by)
VALUES (%(run)s, %(kind)s, %(name)s, %(step)s, %(visit)s, %(ordinal)s, %(effect)s, %(waits_for)s, %(detail)s, 'open',
    clock_timestamp() + %(within)s::interval, '')
ON CONFLICT (run_id, kind, name, step, visit, ordinal) WHERE state = 'open' DO UPDATE SET state = w.state
RETURNING {columns(Wait, "w")}
"""

WAIT_AT = f"""
SELECT {columns(Wait, "w")} FROM durable_wait w
WHERE w.run_id = %(run)s AND w.kind = %(kind)s AND w.name = %(name)s AND w.step = %(step)s AND w.visit = %(visit)s
  AND w.ordinal = %(ordinal)s
ORDER BY w.id DESC LIMIT 1
"""

LOAD = f"""
SELECT coalesce(b.deadline <= clock_timestamp(), false),
       r.parent_id IS NOT NULL OR EXISTS (SELECT FROM durable_run f WHERE f.parent_id = r.id),
       r.parent_id IS NOT NULL OR EXISTS (SELECT FROM durable_checkpoint s WHERE s.run_id = r.id AND s.kind = 'skip'),
       {columns(Run, "r")}, {columns(Budget, "b")}, {columns(Checkpoint, "c")}, older.state
FROM durable_run r JOIN durable_budget b ON b.id = r.budget_id
LEFT JOIN durable_checkpoint c ON c.run_id = r.id AND c.version = r.version
LEFT JOIN durable_checkpoint older ON c.state IS NULL AND older.run_id = r.id AND older.version = c.state_version
WHERE r.id = %(run)s
"""

RETRY = f"""
WITH fenced AS (
    UPDATE durable_run r
    SET state = CASE WHEN r.held THEN 'suspended' ELSE 'queued' END,
        due_at = CASE WHEN NOT r.held THEN
            clock_timestamp() + least(%(backoff)s::interval * power(2, least(r.tries, %(doublings)s)), %(longest)s) END,
        hinted_at = NULL, tries = r.tries + 1, error = %(error)s, {_PUT_DOWN}
    WHERE {FENCE} AND r.state = 'running' AND r.tries + r.crashes < %(retries)s
    RETURNING r.id
), {_LET_GO}
SELECT id FROM fenced
"""

FAIL = f"""
WITH fenced AS (
    UPDATE durable_run r
    SET state = 'failing', due_at = clock_timestamp(), hinted_at = clock_timestamp(), crashes = 0, error = %(error)s,
        {_PUT_DOWN}
    WHERE {FENCE} AND r.state = 'running' AND NOT r.held
    RETURNING r.id
), {_LET_GO}
SELECT id FROM fenced
"""

WRITE = f"""
WITH fenced AS (
    UPDATE durable_run r SET {_MOVED_ON} WHERE r.id = %(run)s RETURNING r.*
), {_SPENT}, {WRITTEN}
)
SELECT version FROM fenced
"""

_RESTED = f"""state = CASE WHEN r.state <> 'running' THEN r.state WHEN %(due)s THEN 'queued' ELSE 'suspended' END,
        due_at = CASE WHEN %(due)s THEN clock_timestamp() END,
        hinted_at = CASE WHEN %(due)s THEN clock_timestamp() END, {_PUT_DOWN}"""

REST = f"""
WITH fenced AS (
    UPDATE durable_run r SET {_RESTED} WHERE r.id = %(run)s RETURNING r.id, r.state
), {_LET_GO}
SELECT state FROM fenced
"""

REST_AT = f"""
WITH fenced AS (
    UPDATE durable_run r SET {_RESTED}, {_MOVED_ON} WHERE r.id = %(run)s RETURNING r.*
), {_LET_GO}, {_SPENT}, {WRITTEN}
)
SELECT state FROM fenced
"""

END = f"""
WITH fenced AS (
    UPDATE durable_run r
    SET state = 'completed', ended_at = clock_timestamp(), due_at = NULL, result = %(result)s::jsonb, error = '',
        {_MOVED_ON}, {_PUT_DOWN}
    WHERE {FENCE} AND r.version = %(version)s AND r.state = 'running' AND NOT r.held
      AND NOT EXISTS (SELECT FROM durable_effect e WHERE e.run_id = r.id AND e.state IN ({listed(OPEN)}))
    RETURNING r.*
), {_CLOSED}, {WRITTEN}
)
SELECT version FROM fenced
"""

CLOSE = f"""
WITH fenced AS (
    UPDATE durable_run r
    SET state = %(to)s, ended_at = clock_timestamp(), due_at = NULL, held = false, {_PUT_DOWN}
    WHERE r.id = %(run)s AND r.state = %(from)s
    RETURNING r.*
), {_CLOSED}
SELECT version FROM fenced
"""
