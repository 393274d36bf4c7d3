"""The vendor's rows and the ledger's, held against each other in the database, and written down as a statement.

Rows are matched by the vendor's own name for what it did, else by the idempotency key that our request carried, where
the vendor shows it back. A vendor's row belongs to the period of the vendor's moment, an effect of ours to that in
which it was settled: so, from one period to the next, each of either side is looked at once. What is missing on one
side is looked for beyond the period before it is said to be: a vendor's row in the whole ledger, an effect of ours in
all that the vendor lists around its sending.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection

from durable import acts
from durable.findings import AGREED, Finding
from durable.journal import ENGINE
from durable.models import StatementRequest, VendorStatement
from durable.sql import answer, listed
from durable.states import ActKind, EffectState
from durable.vendor_statements.accounts import Account
from durable.vendor_statements.digests import likeness, whole

_AGREED = listed(AGREED)
#: Where the ledger says that something moved; of the other kinds it says no, or nothing yet.
_CLAIMED = listed({*AGREED, Finding.LEDGER_ALONE, Finding.AMOUNT, Finding.CURRENCY})

# The ledger's side: acts that were applied, by when they were settled. Undos are not asked for by the period: a vendor
# need not list them.
_OURS = """
    FROM durable_effect e JOIN durable_run r ON r.id = e.run_id {joined}
    WHERE e.state = 'applied' AND e.undo_of_id IS NULL AND e.amount_minor IS NOT NULL
      AND e.settled_at >= %(start)s AND e.settled_at < %(end)s AND e.vendor = %(vendor)s AND e.tool = ANY(%(tools)s)
"""
# What really moved stands in the event; the effect's own amount is what was let out.
_MOVED = """
    LEFT JOIN LATERAL (
        SELECT (durable_body(v.body) ->> 'amount_minor')::bigint AS minor FROM durable_ledgerevent v
        WHERE v.run_ref = r.ref AND v.no = e.applied_no
    ) moved ON true
"""

#: Since when what was settled in the period may have been done: the oldest request, or the backup that a run came from.
_REACHES_BACK = """
SELECT min(CASE WHEN c.id IS NULL THEN coalesce(e.first_sent_at, e.recorded_at)
                ELSE least(e.first_sent_at, e.recorded_at, c.since) END)
""" + _OURS.format(joined="LEFT JOIN durable_recovery c ON c.id = r.recovery_id")
_MISSING = _OURS.format(joined=f"{_MOVED} LEFT JOIN pg_temp.interlock_listed l ON l.receipt = e.receipt_id")

_CREATE = """
CREATE TEMPORARY TABLE interlock_held (
    kind text, effect_id bigint, effect_key text, undo boolean, receipt text, ledger_minor bigint,
    ledger_currency text, vendor_row boolean, vendor_minor bigint, vendor_amount text, vendor_currency text,
    vendor_key text, target text, at timestamptz
) ON COMMIT DROP
"""

# One statement, so that both sides are seen as they are at one moment.
_HOLD = f"""
INSERT INTO pg_temp.interlock_held
SELECT CASE
        WHEN e.id IS NULL THEN '{Finding.VENDOR_ALONE.value}'
        WHEN e.state = 'applied' AND e.receipt_id <> l.receipt THEN '{Finding.OTHER_RECEIPT.value}'
        WHEN e.state IN ('{EffectState.PENDING.value}', '{EffectState.IN_DOUBT.value}') THEN '{Finding.IN_DOUBT.value}'
        WHEN e.state <> 'applied' THEN '{Finding.DENIED.value}'
        WHEN e.amount_minor IS NULL THEN '{Finding.BOTH.value}'
        WHEN e.currency <> l.currency THEN '{Finding.CURRENCY.value}'
        WHEN coalesce(moved.minor, e.amount_minor) IS DISTINCT FROM l.minor THEN '{Finding.AMOUNT.value}'
        ELSE '{Finding.BOTH.value}'
    END, e.id, coalesce(e.key, ''), e.undo_of_id IS NOT NULL, l.receipt, coalesce(moved.minor, e.amount_minor),
    coalesce(e.currency, ''), true, l.minor, l.amount, l.currency, l.key, l.target, l.at
FROM pg_temp.interlock_listed l
LEFT JOIN LATERAL (
    SELECT found.* FROM (
        SELECT 1 AS rank, f.* FROM durable_effect f
        WHERE f.receipt_id = l.receipt AND f.receipt_id <> '' AND f.vendor = %(vendor)s AND f.undo_of_id IS NULL
        UNION ALL
        SELECT 2, f.* FROM durable_effect f
        WHERE f.receipt_id = l.receipt AND f.receipt_id <> '' AND f.vendor = %(vendor)s AND f.undo_of_id IS NOT NULL
        UNION ALL
        SELECT 3, f.* FROM durable_effect f WHERE f.key = l.key
    ) found ORDER BY found.rank LIMIT 1
) e ON true
LEFT JOIN durable_run r ON r.id = e.run_id
{_MOVED}
WHERE l.at >= %(start)s AND l.at < %(end)s
UNION ALL
SELECT CASE WHEN l.receipt IS NULL THEN '{Finding.LEDGER_ALONE.value}' ELSE '{Finding.BESIDE.value}' END, e.id, e.key,
    false, e.receipt_id, coalesce(moved.minor, e.amount_minor), e.currency, false, NULL, '', '', '', '', e.settled_at
{_MISSING}
  AND (l.receipt IS NULL OR l.at < %(start)s OR l.at >= %(end)s)
"""

_WRITE = f"""
WITH told AS (
    SELECT h.*, {likeness("h", "%(vendor)s", "%(account)s")} AS likeness
    FROM pg_temp.interlock_held h WHERE h.kind NOT IN ({_AGREED})
), counted AS (
    SELECT count(*) AS number,
        encode(sha256(convert_to(coalesce(string_agg(likeness, E'\\n' ORDER BY at, receipt, effect_key), ''), 'UTF8')),
            'hex') AS digest
    FROM told
), made AS (
    INSERT INTO durable_vendorstatement (request_id, vendor, account, start, "end", tools, listed, differences, digest,
        began_at, made_at)
    SELECT %(request)s, %(vendor)s, %(account)s, %(start)s, %(end)s, %(tools)s,
        (SELECT count(*) FROM pg_temp.interlock_held WHERE vendor_row), number, digest, %(began)s, clock_timestamp()
    FROM counted RETURNING request_id
), found AS (
    INSERT INTO durable_difference (statement_id, kind, effect_id, effect_key, undo, receipt, ledger_minor,
        ledger_currency, vendor_minor, vendor_amount, vendor_currency, vendor_key, target, at, likeness)
    SELECT made.request_id, kind, effect_id, effect_key, undo, receipt, ledger_minor, ledger_currency, vendor_minor,
        vendor_amount, vendor_currency, vendor_key, target, at, likeness
    FROM told, made ORDER BY at, receipt, effect_key
    RETURNING id, statement_id, likeness
), summed AS (
    INSERT INTO durable_statementtotal (statement_id, kind, undo, currency, ledger_number, ledger_minor, vendor_number,
        vendor_minor)
    SELECT made.request_id, side.kind, side.undo, side.currency, sum(side.ours), sum(side.ours_minor),
        sum(side.theirs), sum(side.theirs_minor)
    FROM made, (
        SELECT kind, undo, ledger_currency AS currency, 1 AS ours, coalesce(ledger_minor, 0) AS ours_minor, 0 AS theirs,
            0 AS theirs_minor
        FROM pg_temp.interlock_held WHERE kind IN ({_CLAIMED})
        UNION ALL
        SELECT kind, undo, vendor_currency, 0, 0, 1, coalesce(vendor_minor, 0)
        FROM pg_temp.interlock_held WHERE vendor_row
    ) side
    GROUP BY made.request_id, side.kind, side.undo, side.currency
)
INSERT INTO durable_unexplained (difference_id, statement_id, likeness)
SELECT f.id, f.statement_id, f.likeness FROM found f
WHERE NOT EXISTS (SELECT FROM durable_explanation x WHERE x.likeness = f.likeness)
"""

_WHOLE = f"SELECT {whole('d')} FROM durable_difference d WHERE d.statement_id = %(request)s"

# A newer statement about the same time says how it stands now; the older ones stay, and ask for nothing any more.
_SUPERSEDE = """
DELETE FROM durable_unexplained u USING durable_vendorstatement s
WHERE s.request_id = u.statement_id AND s.request_id <> %(request)s AND s.vendor = %(vendor)s
  AND s.account = %(account)s AND s.start >= %(start)s AND s."end" <= %(end)s AND s.tools <@ %(tools)s
"""


def reaches_back(account: Account, start: datetime, end: datetime) -> datetime | None:
    """The earliest moment at which something that was settled in the period may have been done; None for nothing."""
    with connection.cursor() as cursor:
        cursor.execute(_REACHES_BACK, _values(account, start, end))
        found: datetime | None = cursor.fetchone()[0]
    return found


def write(request: StatementRequest, account: Account, began: datetime) -> VendorStatement:
    """Hold what was set aside against the ledger, and write the statement down: in the caller's transaction."""
    values = _values(account, request.start, request.end) | {"request": request.pk, "began": began}
    with connection.cursor() as cursor:
        cursor.execute(_CREATE)
        cursor.execute(_HOLD, values)
        cursor.execute(_WRITE, values)
        cursor.execute(_SUPERSEDE, values)
        cursor.execute("DROP TABLE pg_temp.interlock_held")
    made = VendorStatement.objects.get(pk=request.pk)
    acts.record(
        ActKind.STATEMENT_MADE,
        actor=ENGINE,
        about=acts.about("statement", made.pk),
        body=_told(made),
    )
    return made


def _values(account: Account, start: datetime, end: datetime) -> dict[str, Any]:
    names = [tool.name for tool in account.tools]
    return {
        "vendor": account.vendor,
        "account": account.account,
        "tools": names,
        "start": start,
        "end": end,
    }


def _told(made: VendorStatement) -> dict[str, Any]:
    """What the chain keeps of a statement: all totals, and the digests of its differences. Sums are texts: they may be
    larger than a reader that keeps numbers as doubles can tell.
    """
    totals = made.totals.order_by("kind", "undo", "currency")
    row = answer(_WHOLE, {"request": made.pk})
    assert row is not None
    return {
        "vendor": made.vendor,
        "account": made.account,
        "from": made.start.isoformat(),
        "to": made.end.isoformat(),
        "differences": made.differences,
        "digest": made.digest,
        "totals": [
            {
                "kind": one.kind,
                "undo": one.undo,
                "currency": one.currency,
                "ledger": [one.ledger_number, str(one.ledger_minor)],
                "vendor": [one.vendor_number, str(one.vendor_minor)],
            }
            for one in totals
        ],
        "tools": made.tools,
        "listed": made.listed,
        "rows": row[0],
    }
