"""Holds the kept statements of vendors against the events that say that they were made, and their rows against both.

The event of a statement may have gone with its period, a statement never goes: its rows are hashed anew all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from durable.roots.effects import facts_of
from durable.roots.reading import Finding, Wire, stream
from durable.states import ActKind
from durable.vendor_statements import digests

#: Rows that are not what they were when they were hashed; the effect of one is that whose key it names.
_ROWS = f"""
SELECT d.statement_id, d.id, d.receipt, d.effect_key FROM durable_difference d
JOIN durable_vendorstatement s ON s.request_id = d.statement_id LEFT JOIN durable_effect e ON e.id = d.effect_id
WHERE d.likeness <> {digests.likeness("d", "s.vendor", "s.account")} OR d.effect_key <> coalesce(e.key, '')
ORDER BY d.statement_id, d.id
"""
_STATEMENTS = f"""
SELECT coalesce(v.run_ref, 'statement:' || s.request_id), v.no, v.body, s.request_id, s.vendor, s.account, s.start,
    s."end", s.tools, s.listed, s.differences, s.digest, coalesce(d.number, 0), d.together, d.whole,
    (SELECT json_agg(json_build_array(t.kind, t.undo, t.currency, t.ledger_number, t.ledger_minor::text,
            t.vendor_number, t.vendor_minor::text))
     FROM durable_statementtotal t WHERE t.statement_id = s.request_id),
    EXISTS (SELECT FROM durable_cut c WHERE c.run_ref = 'statement:' || s.request_id)
FROM (SELECT * FROM durable_ledgerevent WHERE kind = '{ActKind.STATEMENT_MADE.value}') v
FULL JOIN durable_vendorstatement s ON 'statement:' || s.request_id = v.run_ref
LEFT JOIN (
    SELECT d.statement_id, count(*) AS number, {digests.together("d")} AS together, {digests.whole("d")} AS whole
    FROM durable_difference d GROUP BY d.statement_id
) d ON d.statement_id = s.request_id
ORDER BY coalesce(s.request_id, 0), v.id
"""
_EXPLAINED = f"""
SELECT coalesce(v.run_ref, 'statement:' || d.statement_id), v.no, v.actor, d.id, x.by, x.likeness, d.likeness,
    EXISTS (SELECT FROM durable_cut c WHERE c.run_ref = 'statement:' || d.statement_id)
FROM (SELECT * FROM durable_ledgerevent WHERE kind = '{ActKind.DIFFERENCE_EXPLAINED.value}') v
FULL JOIN (durable_explanation x JOIN durable_difference d ON d.id = x.difference_id)
    ON 'difference:' || d.id = v.effect_key AND v.run_ref = 'statement:' || d.statement_id
ORDER BY 1, v.no
"""
#: The hash over no rows.
_NONE = hashlib.sha256(b"").hexdigest()


def check(wire: Wire) -> Iterator[Finding]:
    """Yield statements, totals, differences and explanations that are not what was written down when they were made."""
    for number, id, receipt, key in stream(wire, _ROWS):
        yield Finding(f"its difference {id} ({receipt or key}) is not the one that was found", _chain(number))
    for row in stream(wire, _STATEMENTS):
        yield from _statement(row)
    for chain, no, actor, id, by, said, likeness, cut in stream(wire, _EXPLAINED):
        if no is None and not cut:
            yield Finding(f"its difference {id} has an explanation, and no event speaks of it", chain)
        elif id is None:
            yield Finding("the explanation that it speaks of is not there", chain, no)
        elif said != likeness or (no is not None and by != actor):
            yield Finding(f"the explanation of difference {id} is not the one that was given", chain, no or 0)


def _chain(number: int) -> str:
    return f"statement:{number}"


def _statement(row: tuple[Any, ...]) -> Iterator[Finding]:
    """One statement with the event of its making."""
    chain, no, body, number, *about, count, together, whole, totals, cut = row
    if number is None:
        yield Finding("the statement that it speaks of is not there", chain, no)
        return
    vendor, account, start, end, tools, listed, differences, digest = about
    if (count, together or _NONE) != (differences, digest):
        what = f"{count} differences are there that do not make its digest; it was made with {differences}"
        yield Finding(what, chain, no or 0)
    if no is None:
        if not cut:
            yield Finding("the statement is there, and no event says that it was made", chain)
        return
    told = facts_of(body)
    here: dict[str, Any] = {
        "vendor": vendor,
        "account": account,
        "from": start.isoformat(),
        "to": end.isoformat(),
        "differences": differences,
        "digest": digest,
    }
    # Those that were made before it was told say nothing of these.
    later = {"tools": tools, "listed": listed, "rows": whole or _NONE}
    here |= {name: value for name, value in later.items() if name in told}
    for name, value in here.items():
        if told.get(name) != value:
            yield Finding(f"the statement has another {_WORDS.get(name, name)} than this event", chain, no)
    if _totals(told) != sorted(map(tuple, totals or ())):
        yield Finding("the statement has other totals than this event", chain, no)


#: How a finding calls what an event calls otherwise.
_WORDS = {
    "from": "beginning",
    "to": "end",
    "differences": "number of differences",
    "listed": "number of rows at the vendor",
    "tools": "list of tools",
    "rows": "wording of its differences",
}


def _totals(told: dict[str, Any]) -> list[tuple[Any, ...]] | None:
    """The totals of an event, as the query has those of the table; None where it has none that can be read."""
    try:
        return sorted(
            (one["kind"], one["undo"], one["currency"], *one["ledger"], *one["vendor"])
            for one in told["totals"]
        )
    except (KeyError, TypeError):
        return None
