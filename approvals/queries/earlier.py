"""What was done before about the same order or customer, in any run: found by keyed hash, never by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from approvals import access, opened
from approvals.capabilities import Capability
from approvals.models import Gate
from approvals.queries import words
from approvals.typed import written
from durable import tools
from durable.errors import InterlockError
from durable.sql import answers
from durable.states import EffectState

#: So many are read and summed, the newest first; the ledger has all of them.
READ = 200
SHOWN = 5

# By hand, so that the server begins with the subjects, of which there are few, and not with the newest effects.
_BEFORE = f"""
WITH about AS MATERIALIZED (
    SELECT DISTINCT other.effect_id AS id
    FROM durable_subject mine JOIN durable_subject other ON other.hash = mine.hash
    WHERE mine.effect_id = %(effect)s AND other.effect_id <> %(effect)s
    ORDER BY 1 DESC LIMIT {READ + 1}
)
SELECT e.id, e.key, e.state, e.tool, e.amount_minor, e.currency, coalesce(e.settled_at, e.recorded_at),
       e.undo_of_id, e.receipt_id,
       e.state = 'in doubt' OR e.state = 'pending' AND (e.open_sends > 0 OR e.forgotten_since IS NOT NULL)
FROM about JOIN durable_effect e ON e.id = about.id ORDER BY e.id DESC
"""
_NAMES = (
    "id",
    "key",
    "state",
    "tool",
    "amount_minor",
    "currency",
    "at",
    "undo_of_id",
    "receipt_id",
    "unknown",
)


def about_the_same(user: Any, gate: Gate) -> dict[str, Any] | None:
    """The newest effects about the same, what they moved in sum, and where all of them are; None without a subject."""
    subjects = _subjects(gate)
    found = [dict(zip(_NAMES, row, strict=True)) for row in answers(_BEFORE, {"effect": gate.effect_id})]
    if not subjects and not found:
        return None
    rows = found[:READ]
    named = " and ".join(words.thing(kind, value) for kind, value in subjects.items())
    ledger = reverse("ledger") if access.may(user, Capability.SEE_LEDGER) else ""
    return {
        "title": f"Besides this, for {named}" if named else "Besides this, about the same",
        "rows": [_row(row) for row in rows[:SHOWN]],
        "words": _words(rows, cut=len(found) > READ),
        "links": [
            {
                "href": f"{ledger}?{urlencode({'q': written([('', value)])})}",
                "label": f"All about {words.thing(kind, value)}",
            }
            for kind, value in subjects.items()
            if ledger and rows
        ],
    }


def moved(rows: list[dict[str, Any]]) -> dict[str, int]:
    """What was moved and not given back, in minor units by currency."""
    applied = [row for row in rows if row["state"] == EffectState.APPLIED]
    undone = {row["undo_of_id"] for row in applied if row["undo_of_id"]}
    sums: dict[str, int] = {}
    for row in applied:
        if row["amount_minor"] is not None and row["undo_of_id"] is None and row["id"] not in undone:
            sums[row["currency"]] = sums.get(row["currency"], 0) + row["amount_minor"]
    return sums


def unknown(rows: list[dict[str, Any]], *, undos: bool) -> dict[str, int]:
    """What may have been moved, or with `undos` given back, in minor units by currency: the vendor may have a request
    of which nobody knows yet what became of it.
    """
    sums: dict[str, int] = {}
    for row in rows:
        if row["unknown"] and row["amount_minor"] is not None and (row["undo_of_id"] is not None) is undos:
            sums[row["currency"]] = sums.get(row["currency"], 0) + row["amount_minor"]
    return sums


def _words(rows: list[dict[str, Any]], *, cut: bool) -> str:
    if not rows:
        return ""
    sums, may, back = moved(rows), unknown(rows, undos=False), unknown(rows, undos=True)
    told = [f"{_money(sums) or 'No money'} moved"] if sums or not may else []
    told += [f"{_money(may)} may have moved"] if may else []
    told += [f"{_money(back)} may have been given back"] if back else []
    applied = sum(row["state"] == EffectState.APPLIED for row in rows)
    of = f"the newest {READ}" if cut else str(len(rows))
    in_doubt = f", {number} not known yet" if (number := sum(row["unknown"] for row in rows)) else ""
    return f"{', '.join(told)}; {applied} of {of} applied{in_doubt}."


def _money(sums: Mapping[str, int]) -> str:
    return " and ".join(words.money(minor, currency) for currency, minor in sorted(sums.items()))


def _row(row: dict[str, Any]) -> dict[str, Any]:
    undo = row["undo_of_id"] is not None
    return {
        "effect_id": row["key"],
        "key": row["key"],
        "state": row["state"],
        "title": words.title(row["tool"], row["amount_minor"], row["currency"], undo=undo),
        "at": row["at"],
        "receipt": row["receipt_id"],
    }


def _subjects(gate: Gate) -> dict[str, str]:
    """The order, customer and so on of this gate's payload, by kind; what is secret is left out."""
    try:
        args = opened.read(gate.payload, gate.effect.run)["args"]
        tool = tools.get(gate.effect.tool)
        found = tool.proposal(args).subjects
    except InterlockError:
        return {}
    return {
        kind: str(value)
        for kind, value in found.items()
        if tool.facts.subjects.get(kind) not in tool.facts.secret
    }
