"""The fused statements around an act: the intent with its release before it, the outcome after it.

One round trip and one commit each, as in `durable.transitions.hot`. Each checks and writes in one statement: what must
hold at that moment stands in its WHEREs, and where it does not hold nothing is written and no row comes back. Why not
is for the caller to find out, at leisure.

Such a statement sees other tables as they were when it began, though it may have waited for the run's row since. So
what has to be seen as it is after the wait stands on a row that the statement itself locks, or is asked of a function
that looks anew: `durable_stopped`, once the row is locked, knows of a stop order that was given meanwhile.
"""

from __future__ import annotations

from durable.models import Effect
from durable.transitions.billing import BILLED
from durable.transitions.fence import FENCED

#: Every column of an effect, as the model's constructor takes them.
EFFECT_COLUMNS = ", ".join(f"e.{field.column}" for field in Effect._meta.concrete_fields)

_INTENT = f"""
WITH fenced AS (
    {FENCED}
      AND r.state = %(wanted)s AND NOT r.held
    RETURNING r.id, r.ref, r.agent, r.budget_id
), clear AS (
    SELECT f.* FROM fenced f
    WHERE NOT durable_stopped(f.agent, %(tool)s) AND (%(undo_of)s::bigint IS NOT NULL OR NOT EXISTS (
        SELECT FROM durable_budget b WHERE b.id = f.budget_id AND b.deadline <= clock_timestamp()
    ))
), reserved AS (
    UPDATE durable_purse p SET reserved_minor = p.reserved_minor + %(amount)s::bigint FROM clear
    WHERE %(counted)s AND p.budget_id = clear.budget_id AND p.currency = %(currency)s
      AND p.limit_minor >= p.reserved_minor + p.spent_minor + %(amount)s::bigint
    RETURNING p.id
), may AS (
    SELECT clear.* FROM clear WHERE NOT %(counted)s OR EXISTS (SELECT FROM reserved)
), payload AS (
    INSERT INTO durable_sealed (run_id, digest, box)
    SELECT id, %(payload_digest)s, %(payload_box)s::bytea FROM may RETURNING id
), facts AS (
    INSERT INTO durable_sealed (run_id, digest, box)
    SELECT id, %(facts_digest)s::text, %(facts_box)s::bytea FROM may WHERE %(facts_box)s::bytea IS NOT NULL RETURNING id
), said AS (
    INSERT INTO durable_sealed (run_id, digest, box)
    SELECT id, %(said_digest)s::text, %(said_box)s::bytea FROM may WHERE %(said_box)s::bytea IS NOT NULL RETURNING id
), e AS (
    INSERT INTO durable_effect (run_id, key, step, visit, ordinal, link, linked_from_id, undo_of_id, tool,
        tool_version, effect_class, digest_asked, digest, payload_asked_id, payload_id, facts_id, said_id, vendor,
        amount_minor, currency, reason, once_per, state, round, sends, open_sends, error_saved, first_sent_at,
        last_sent_at, send_by, looks, next_look_at, forgotten_since, receipt_id, adopted, failure, recorded_at)
    SELECT may.id, %(key)s, %(step)s, %(visit)s, %(ordinal)s, %(link)s, %(linked_from)s::bigint,
        %(undo_of)s::bigint, %(tool)s, %(tool_version)s, %(effect_class)s, %(digest)s, %(digest)s, payload.id,
        payload.id, facts.id, said.id,
        %(vendor)s, %(amount)s::bigint, %(currency)s, %(reason)s, %(once_per)s, %(state)s, 1, %(sends)s, %(sends)s,
        false,
        CASE WHEN %(sends)s > 0 THEN clock_timestamp() END, CASE WHEN %(sends)s > 0 THEN clock_timestamp() END,
        coalesce(%(over_at)s::timestamptz, clock_timestamp() + %(over_in)s::interval), 0,
        coalesce(%(over_at)s::timestamptz, clock_timestamp() + %(look_in)s::interval),
        %(forgotten_since)s::timestamptz, '', false, '', clock_timestamp()
    FROM may CROSS JOIN payload LEFT JOIN facts ON true LEFT JOIN said ON true
    RETURNING *
), about AS (
    INSERT INTO durable_subject (effect_id, run_id, kind, hash)
    SELECT e.id, e.run_id, s.kind, s.hash FROM e, unnest(%(kinds)s::text[], %(hashes)s::text[]) AS s (kind, hash)
), told AS (
    INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body)
    SELECT may.ref, t.kind, %(key)s, t.actor, t.body
    FROM may, unnest(%(event_kinds)s::text[], %(actors)s::text[], %(bodies)s::text[])
         WITH ORDINALITY AS t (kind, actor, body, place)
    ORDER BY t.place{{billed}}
)
SELECT {EFFECT_COLUMNS} FROM e
"""

INTENT = _INTENT.format(billed="")
#: The same, with a model's answer that waits to be on record: what led to an act is known when the act is.
INTENT_AND_BILL = _INTENT.format(billed=BILLED.format(run="may"))

#: What settling an effect as applied writes of it, and answers with.
SETTLED = (
    "state",
    "open_sends",
    "receipt_id",
    "applied_no",
    "adopted",
    "proof_id",
    "settled_at",
    "next_look_at",
)

_APPLY = """
WITH fenced AS ({fence}
), asked AS (
    SELECT a.id FROM durable_effect a JOIN fenced ON fenced.id = a.run_id WHERE a.id = %(effect)s AND {open}
    FOR UPDATE OF a
), told AS (
    INSERT INTO durable_ledgerevent (run_ref, kind, effect_key, actor, body)
    SELECT fenced.ref, %(kind)s, %(key)s, %(actor)s, %(body)s FROM fenced, asked
    RETURNING id, no
), proof AS (
    INSERT INTO durable_sealed (run_id, digest, box)
    SELECT fenced.id, %(proof_digest)s, %(proof_box)s::bytea FROM fenced, asked RETURNING id
), e AS (
    UPDATE durable_effect u
    SET state = 'applied', open_sends = 0, receipt_id = %(receipt)s, applied_no = told.no, adopted = %(adopted)s,
        proof_id = proof.id, settled_at = clock_timestamp(), next_look_at = NULL
    FROM asked, told, proof WHERE u.id = asked.id
    RETURNING u.*
), spent AS (
    -- Where a vendor moved more than it was asked to, the purse is full and no fuller: the ledger has the true sum.
    UPDATE durable_purse p
    SET reserved_minor = p.reserved_minor - %(reserved)s::bigint,
        spent_minor = least(p.spent_minor + %(spent)s::bigint,
                            p.limit_minor - (p.reserved_minor - %(reserved)s::bigint))
    FROM fenced, e WHERE %(counted)s AND p.budget_id = fenced.budget_id AND p.currency = e.currency
)
SELECT told.id, {settled} FROM e, told
"""

_SETTLED = ", ".join(f"e.{column}" for column in SETTLED)

#: By the worker that has made the one request of an effect, and has its answer: nobody else can have settled it.
OUTCOME = _APPLY.format(
    fence=f"\n    {FENCED}\n    RETURNING r.id, r.ref, r.budget_id",
    open="a.state = 'pending' AND a.sends = 1 AND a.open_sends = 1",
    settled=_SETTLED,
)

#: By whoever holds the run's lock and has looked at the effect under it.
APPLY = _APPLY.format(
    fence="\n    SELECT r.id, r.ref, r.budget_id FROM durable_run r WHERE r.id = %(run)s",
    open="a.state = %(state)s",
    settled=_SETTLED,
)
