"""The fence: what each write of a worker asks of the run's row, so that one that lost its lease writes nothing."""

from __future__ import annotations

#: The attempt and its nonce are the token; the lease runs on the database's clock.
FENCE = (
    "r.id = %(run)s AND r.attempt = %(attempt)s AND r.nonce = %(nonce)s AND r.lease_until > clock_timestamp()"
)

#: The beginning of a write: it locks the row, and pushes the lease out.
FENCED = f"UPDATE durable_run r SET lease_until = clock_timestamp() + %(lease)s WHERE {FENCE}"

#: The same in a statement that does not wait for the disk.
LAZILY_FENCED = f"""
WITH mode AS (
    SELECT set_config('synchronous_commit', 'off', true)
), fenced AS (
    UPDATE durable_run r SET lease_until = clock_timestamp() + %(lease)s FROM mode WHERE {FENCE}
    RETURNING r.id, r.budget_id
"""
