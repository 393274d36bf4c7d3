"""Statements of a vendor, a year of them, of which the newest has very many differences that nobody has explained."""

from __future__ import annotations

from django.urls import reverse

from durable.findings import Finding
from durable.models import Difference, VendorStatement
from tests.bench import kit, paging

_DAYS = 366
_REQUESTS = """
INSERT INTO durable_statementrequest (vendor, account, start, "end", asked_by, due_at, tries, trouble)
SELECT 'stripe', '', day - n * interval '1 day', day - (n - 1) * interval '1 day', '', NULL, 0, ''
FROM generate_series(%(days)s, 1, -1) AS n,
    (SELECT coalesce(min(start), date_trunc('day', now(), 'UTC')) AS day FROM durable_statementrequest) AS before
"""
_MADE = """
INSERT INTO durable_vendorstatement (request_id, vendor, account, start, "end", tools, listed, differences, digest,
    began_at)
SELECT id, vendor, account, start, "end", '{refund}', 5000, CASE WHEN id = max(id) OVER () THEN %(many)s ELSE 0 END,
    repeat('0', 64), now()
FROM durable_statementrequest WHERE id NOT IN (SELECT request_id FROM durable_vendorstatement)
"""
_TOTALS = """
INSERT INTO durable_statementtotal (statement_id, kind, undo, currency, ledger_number, ledger_minor, vendor_number,
    vendor_minor)
SELECT request_id, kind, false, currency, 5000, 20000000, 5000, 20000000
FROM durable_vendorstatement, unnest(ARRAY['EUR', 'JPY', 'KWD']) AS currency, unnest(%(kinds)s::text[]) AS kind
WHERE (kind = 'in both' OR differences > 0) AND listed = 5000
"""
_FOUND = """
WITH newest AS (SELECT max(request_id) AS id FROM durable_vendorstatement), found AS (
    INSERT INTO durable_difference (statement_id, kind, effect_id, effect_key, undo, receipt, ledger_minor,
        ledger_currency, vendor_minor, vendor_amount, vendor_currency, vendor_key, target, at, likeness)
    SELECT newest.id, %(kind)s, e.id, e.key, false, e.receipt_id, e.amount_minor, e.currency, 1, '0.01', e.currency,
        e.key, 'ch_1', now(), md5(e.key)
    FROM newest, (SELECT * FROM durable_effect WHERE tool = 'refund' AND state = 'applied' ORDER BY id DESC
        LIMIT %(many)s) AS e
    RETURNING id, statement_id, likeness
)
INSERT INTO durable_unexplained (difference_id, statement_id, likeness) SELECT id, statement_id, likeness FROM found
"""


def make() -> None:
    """Add them to the history that is there, of days before those that it has statements of."""
    there = VendorStatement.objects.count()
    kinds = [Finding.BOTH.value, Finding.AMOUNT.value]
    with kit.connect() as admin:
        many = {"many": paging.LONG, "kinds": kinds, "kind": Finding.AMOUNT.value, "days": _DAYS}
        for statement in (_REQUESTS, _MADE, _TOTALS, _FOUND):
            admin.execute(statement, many)
    kit.done(VendorStatement.objects.count() - there, _DAYS, "statements of a vendor")


def addresses() -> dict[str, dict[str, list[str]]]:
    """What is asked of the two pages."""
    newest = VendorStatement.objects.order_by("-pk")
    many, clean = newest[0].pk, newest[7].pk
    last = Difference.objects.filter(statement=many).order_by("-pk")[49].pk
    here, listed = reverse("statement", args=[many]), reverse("statements")
    return {
        "statements": {"all": [listed], "second page": [f"{listed}?after={newest[49].pk}"]},
        "statement": {
            "clean": [reverse("statement", args=[clean])],
            "many differences": [here],
            "second page": [f"{here}?after={last}"],
        },
    }
