"""What a shared-out history has none of: a very long run, a customer with thousands of effects, a large bulk act."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User

from approvals import bulk
from approvals.models import BulkAct
from approvals.run_query import parse
from durable.digest import keyed_hash
from tests.bench import kit, paging

#: The customer about whom very much was done.
CUSTOMER = "cus_many"

# The newest run that waits for a yes becomes the long one: its rows are what the engine writes, only very many.
_LONG = """
SELECT r.id, r.ref, r.branch_id, e.id FROM durable_run r JOIN durable_effect e ON e.run_id = r.id AND e.state = 'gated'
WHERE e.tool = 'refund' ORDER BY r.id DESC LIMIT 1
"""
_CHECKPOINTS = """
INSERT INTO durable_checkpoint (run_id, version, kind, step, visit, next_step, next_visit, attempt, state,
    state_version, progress, branch_id, message_count, compaction_base, budget, at)
SELECT c.run_id, c.version + n, 'step', 'pay', n, 'pay', n + 1, c.attempt, CASE WHEN n %% 10 = 0 THEN s.state END,
    CASE WHEN n >= 10 THEN c.version + n - n %% 10 ELSE c.state_version END, c.progress, c.branch_id, n, 0, c.budget,
    c.at + n * interval '2 seconds'
FROM durable_checkpoint c
JOIN durable_checkpoint s ON s.run_id = c.run_id AND s.version = c.state_version,
    generate_series(1, %(many)s) AS n
WHERE c.run_id = %(run)s AND c.version = (SELECT version FROM durable_run WHERE id = %(run)s)
"""
_MESSAGES = """
INSERT INTO durable_message (branch_id, no, role, content, at)
SELECT %(branch)s, r.message_count + n, CASE n %% 2 WHEN 0 THEN 'agent' ELSE 'customer' END,
    to_jsonb(repeat('What was said in answer to what was asked before it. ', 8) || n), clock_timestamp()
FROM durable_run r, generate_series(1, %(many)s) AS n WHERE r.id = %(run)s
"""
_MOVED = """
UPDATE durable_run SET version = version + %(many)s, message_count = message_count + %(many)s WHERE id = %(run)s
"""
_EFFECTS = """
INSERT INTO durable_effect (run_id, key, step, visit, ordinal, link, tool, tool_version, effect_class, digest_asked,
    digest, payload_asked_id, payload_id, vendor, amount_minor, currency, once_per, state, round, sends, open_sends,
    error_saved, first_sent_at, last_sent_at, looks, receipt_id, adopted, failure, recorded_at, settled_at, applied_no)
SELECT run_id, %(ref)s || ':pay#' || 1 + n, step, visit, 1 + n, 1, tool, tool_version, effect_class, digest_asked,
    digest, payload_asked_id, payload_id, vendor, 100, currency, '', 'applied', 1, 1, 0,
    false, at, at, 0, 're_' || md5(%(ref)s || n), false, '', at, at, 100 + 3 * n
FROM durable_effect e, generate_series(1, %(many)s) AS n,
    LATERAL (SELECT e.recorded_at + n * interval '2 seconds' AS at) AS moment
WHERE e.id = %(effect)s
"""
_EVENTS = """
INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body)
SELECT %(ref)s, kind, %(ref)s || ':pay#' || 1 + n, 'worker-1:300', body
FROM generate_series(1, %(many)s) AS n, (VALUES ('intent', '{}'), ('sent', '{}'), ('applied', '{}')) AS told(kind, body)
"""
_ABOUT = """
UPDATE durable_subject SET hash = %(hash)s WHERE kind = 'customer' AND effect_id IN (
    SELECT id FROM (
        (SELECT effect_id AS id FROM durable_subject WHERE kind = 'customer' AND id %% %(every)s = 0 LIMIT %(many)s)
        UNION ALL
        (SELECT g.effect_id FROM approvals_gate g JOIN durable_effect e ON e.id = g.effect_id
         WHERE g.state = 'open' AND e.tool = 'refund' AND e.run_id <> %(run)s ORDER BY g.id DESC LIMIT 1)
    ) AS chosen)
"""


def make() -> None:
    """Add them to the history that is there."""
    with kit.connect() as admin:
        found = admin.execute(_LONG).fetchone()
        assert found is not None
        names = dict(zip(("run", "ref", "branch", "effect"), found, strict=True))
        subjects = kit.one(admin, "SELECT count(*) FROM durable_subject WHERE kind = 'customer'")
        values = {**names, "many": paging.LONG}
        for statement in (_CHECKPOINTS, _MESSAGES, _MOVED, _EFFECTS, _EVENTS):
            admin.execute(statement, values)
        secret = keyed_hash("customer", CUSTOMER, settings.INTERLOCK_HASH_KEY)
        every = max(int(subjects) // paging.MANY, 1)
        admin.execute(_ABOUT, {**names, "hash": secret, "every": every, "many": paging.MANY})
        sven = User.objects.get(username="sven")
        made = bulk.draft(sven, "holds", query=parse(_most()))
        admin.execute(
            "UPDATE approvals_bulkact SET state = 'done', started_at = now() WHERE id = %s", [made.pk]
        )
        admin.execute(
            "UPDATE approvals_bulkresult SET outcome = CASE id %% 3 WHEN 0 THEN 'refused' ELSE 'done' END, at = now()"
            " WHERE bulk_id = %s",
            [made.pk],
        )
        kit.done(BulkAct.objects.count(), 1, "bulk acts")


def _most() -> str:
    """A query that finds as many runs as one act may reach, or few less."""
    with kit.connect() as admin:
        for state in ("failed", "partly-compensated"):
            count = kit.one(
                admin, "SELECT count(*) FROM durable_run WHERE state = %s", state.replace("-", " ")
            )
            if 0 < int(count) <= bulk.MOST:
                return f"status:{state}"
    return "status:held"
