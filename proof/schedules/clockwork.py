"""Time passes: an hour in a millisecond, at the vendor and in the database alike.

Nobody holds a run when this is called: its worker is dead (its parent has waited for it) or has let go. So an hour of
waiting would change nothing but the clocks, and moving what is compared with the clock back by an hour is that hour.
The vendor goes first: what was still on its way has arrived, as it would have.
"""

from __future__ import annotations

from django.db import connection

from local.vendor import Vendor

_SHIFT = """
WITH r AS (
    UPDATE durable_run SET due_at = due_at - %(by)s, lease_until = lease_until - %(by)s,
        hinted_at = hinted_at - %(by)s, changed_at = changed_at - %(by)s
    WHERE id = %(run)s RETURNING id, budget_id
), w AS (
    UPDATE durable_wait SET opened_at = opened_at - %(by)s, deadline = deadline - %(by)s WHERE run_id = %(run)s
), e AS (
    UPDATE durable_effect SET recorded_at = recorded_at - %(by)s, first_sent_at = first_sent_at - %(by)s,
        last_sent_at = last_sent_at - %(by)s, send_by = send_by - %(by)s, next_look_at = next_look_at - %(by)s
    WHERE run_id = %(run)s
), f AS (
    UPDATE durable_frozen SET fetched_at = fetched_at - %(by)s, fresh_until = fresh_until - %(by)s
    WHERE run_id = %(run)s
), g AS (
    UPDATE approvals_gate SET decide_by = decide_by - %(by)s, act_by = act_by - %(by)s
    FROM durable_effect WHERE durable_effect.id = effect_id AND durable_effect.run_id = %(run)s
)
UPDATE durable_budget SET deadline = deadline - %(by)s WHERE id IN (SELECT budget_id FROM r)
"""


def passes(vendor: Vendor, run_id: int, seconds: float) -> None:
    """Let `seconds` go by for one run and its vendor."""
    vendor.passes(seconds)
    with connection.cursor() as cursor:
        cursor.execute(
            _SHIFT.replace("%(by)s", "make_interval(secs => %(by)s)"), {"by": seconds, "run": run_id}
        )
